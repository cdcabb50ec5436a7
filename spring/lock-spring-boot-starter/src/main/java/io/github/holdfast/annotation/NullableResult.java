package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import org.springframework.core.Nullness;

/** Tells which methods may return null. The starter for Spring Boot 3 has a class of its own for it. */
final class NullableResult {

    private NullableResult() {}

    static boolean isOf(Method method) {
        return Nullness.forMethodReturnType(method) == Nullness.NULLABLE;
    }
}

package io.github.holdfast.annotation;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;

/** Tells which methods may return null: those with any annotation named Nullable, and those of Kotlin whose type says so. */
final class NullableResult {

    private NullableResult() {}

    static boolean isOf(Method method) {
        return isNullable(method) || isNullable(method.getAnnotatedReturnType()) || isNullableInKotlin(method);
    }

    private static boolean isNullable(AnnotatedElement annotated) {
        return Arrays.stream(annotated.getAnnotations())
                .anyMatch(annotation ->
                        annotation.annotationType().getSimpleName().equals("Nullable"));
    }

    private static boolean isNullableInKotlin(Method method) {
        return KotlinDetector.isKotlinReflectPresent()
                && KotlinDetector.isKotlinType(method.getDeclaringClass())
                && new MethodParameter(method, -1).isOptional();
    }
}

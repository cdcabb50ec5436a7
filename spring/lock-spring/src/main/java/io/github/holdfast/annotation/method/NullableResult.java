package io.github.holdfast.annotation.method;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;

/**
 * Determines which methods may return null. Spring 7 knows. On Spring 6.2 they are those with any annotation named Nullable, and
 * those of Kotlin whose type says so.
 */
public final class NullableResult {

    private static final boolean IS_SPRING_7 =
            ClassUtils.isPresent("org.springframework.core.Nullness", NullableResult.class.getClassLoader());

    private NullableResult() {}

    public static boolean isOf(Method method) {
        return IS_SPRING_7 ? Since7.isNullable(method) : isNullableOn6(method);
    }

    private static boolean isNullableOn6(Method method) {
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

    /** Loaded only with Spring 7. */
    private static final class Since7 {

        static boolean isNullable(Method method) {
            return Nullness.forMethodReturnType(method) == Nullness.NULLABLE;
        }
    }
}

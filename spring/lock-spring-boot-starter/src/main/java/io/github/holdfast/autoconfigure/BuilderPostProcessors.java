package io.github.holdfast.autoconfigure;

import java.lang.reflect.Field;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.springframework.orm.jpa.persistenceunit.PersistenceUnitPostProcessor;
import org.springframework.util.ReflectionUtils;

/**
 * The post-processors of Spring Boot's builder of persistence units. Before Spring Boot 4.1, it can only replace them, so that those which
 * the application has set would be lost (https://github.com/spring-projects/spring-boot/pull/47802).
 */
final class BuilderPostProcessors {

    private BuilderPostProcessors() {}

    /** Returns those that the builder has, and this one. */
    static PersistenceUnitPostProcessor[] with(Object builder, PersistenceUnitPostProcessor postProcessor) {
        PersistenceUnitPostProcessor[] before = before(builder);
        if (before == null) {
            return new PersistenceUnitPostProcessor[] {postProcessor};
        }
        PersistenceUnitPostProcessor[] all = Arrays.copyOf(before, before.length + 1);
        all[before.length] = postProcessor;
        return all;
    }

    private static PersistenceUnitPostProcessor @Nullable [] before(Object builder) {
        Field field = ReflectionUtils.findField(builder.getClass(), null, PersistenceUnitPostProcessor[].class);
        if (field == null) {
            return null;
        }
        ReflectionUtils.makeAccessible(field);
        return (PersistenceUnitPostProcessor[]) ReflectionUtils.getField(field, builder);
    }
}

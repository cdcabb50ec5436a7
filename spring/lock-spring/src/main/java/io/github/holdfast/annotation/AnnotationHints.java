package io.github.holdfast.annotation;

import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** The annotations themselves, for native images: Spring reads their attributes by reflection, and merges aliases in a proxy. */
final class AnnotationHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        Stream.of(Locked.class, Locked.List.class, Limited.class, ScheduledLock.class, LeaderOnly.class)
                .forEach(annotation -> {
                    hints.reflection().registerType(annotation, MemberCategory.INVOKE_DECLARED_METHODS);
                    hints.proxies().registerJdkProxy(annotation);
                });
    }
}

package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.PresentAnnotations;
import io.github.holdfast.test.sources.CompiledClasses;
import java.lang.annotation.Annotation;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.OverridingClassLoader;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** Wherever {@link LockedAnnotations} finds an annotation, the quick test must not exclude it. */
@SuppressWarnings("UnusedMethod") // Only their annotations are read.
class PresentAnnotationsTest {

    private final PresentAnnotations locked = new PresentAnnotations(Locked.class);

    @Locked("composed")
    @Retention(RetentionPolicy.RUNTIME)
    @Repeatable(ComposedTwice.class)
    private @interface Composed {}

    @Retention(RetentionPolicy.RUNTIME)
    private @interface ComposedTwice {
        Composed[] value();
    }

    @Composed
    @Retention(RetentionPolicy.RUNTIME)
    private @interface ComposedOfComposed {}

    private static class OnPrivateMethod {
        @Locked("direct")
        private void direct() {}
    }

    @Locked("class")
    private static class OnClass {}

    private static class OfSuperclass extends OnPrivateMethod {}

    private static class OfClassOfSuperclass extends OnClass {}

    private interface OnInterface {
        @Locked("interface")
        default void inherited() {}
    }

    private interface BelowInterface extends OnInterface {}

    private static class OfInterface implements BelowInterface {}

    private static class Repeated {
        @Locked("first")
        @Locked("second")
        void both() {}
    }

    private static class RepeatedComposed {
        @Composed
        @Composed
        void both() {}
    }

    private static class Deep {
        @ComposedOfComposed
        void deep() {}
    }

    @Retention(RetentionPolicy.RUNTIME)
    private @interface Vendor {
        Optional option();
    }

    private enum Optional {
        ONE
    }

    @Vendor(option = Optional.ONE)
    private static class BesideVendor {
        @Locked("locked")
        void locked() {}
    }

    private static class OnlyOthers {
        @Limited(value = "other", limit = "2")
        @Deprecated
        void other() {}

        @LeaderOnly("other")
        void another() {}
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                OnPrivateMethod.class,
                OnClass.class,
                OfSuperclass.class,
                OfClassOfSuperclass.class,
                OnInterface.class,
                BelowInterface.class,
                OfInterface.class,
                Repeated.class,
                RepeatedComposed.class,
                Deep.class
            })
    void findsTheAnnotation(Class<?> type) {
        assertThat(locked.mayBeIn(type)).isTrue();
    }

    @Test
    void findsTheAnnotationOfAProxysInterface() {
        Object proxy = Proxy.newProxyInstance(
                OnInterface.class.getClassLoader(),
                new Class<?>[] {BelowInterface.class},
                (self, method, args) -> null);

        assertThat(locked.mayBeIn(proxy.getClass())).isTrue();
    }

    @Test
    void excludesOtherAnnotations() {
        assertThat(locked.mayBeIn(OnlyOthers.class)).isFalse();
        assertThat(locked.mayBeIn(String.class)).isFalse();
        assertThat(new PresentAnnotations(Limited.class).mayBeIn(OnlyOthers.class))
                .isTrue();
    }

    /** The tests of the annotations contain every way to annotate a method that they support. */
    @ParameterizedTest
    @ValueSource(classes = {Locked.class, Limited.class, LeaderOnly.class, ScheduledLock.class})
    <A extends Annotation> void excludesNoTestClassInWhichTheSearchFindsTheAnnotation(Class<A> annotation)
            throws Exception {
        PresentAnnotations present = new PresentAnnotations(annotation);
        List<? extends Class<?>> annotated = CompiledClasses.beside(PresentAnnotationsTest.class).stream()
                .map(name -> ClassUtils.resolveClassName(name, null))
                .filter(type -> Arrays.stream(ReflectionUtils.getAllDeclaredMethods(type))
                        .anyMatch(method ->
                                !LockedAnnotations.of(annotation, method, type).isEmpty()))
                .toList();

        assertThat(annotated).isNotEmpty().allMatch(present::mayBeIn);
    }

    /** Spring's search finds the annotations that can be read. */
    @Test
    void leavesAClassWithAnUnreadableAnnotationToTheSearch() throws Exception {
        ClassLoader withoutOption = new OverridingClassLoader(getClass().getClassLoader()) {

            @Override
            protected boolean isEligibleForOverriding(String className) {
                return className.startsWith(PresentAnnotationsTest.class.getName());
            }

            @Override
            protected @Nullable Class<?> loadClassForOverriding(String name) throws ClassNotFoundException {
                if (name.equals(Optional.class.getName())) {
                    throw new ClassNotFoundException(name);
                }
                return super.loadClassForOverriding(name);
            }
        };
        Class<?> type = withoutOption.loadClass(BesideVendor.class.getName());

        assertThatThrownBy(type::getDeclaredAnnotations).isInstanceOf(NoClassDefFoundError.class);
        assertThat(locked.mayBeIn(type)).isTrue();
        assertThat(AnnotatedMethods.locked().of(type)).hasSize(1);
    }
}

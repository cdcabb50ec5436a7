package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.service.LockService;
import java.util.function.Consumer;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;

/** The check accepts what Spring would inject. It creates no bean. */
class LockServiceCheckTest {

    private final DefaultListableBeanFactory parent = new DefaultListableBeanFactory();
    private final DefaultListableBeanFactory beans = new DefaultListableBeanFactory(parent);

    private static void define(DefaultListableBeanFactory beans, String name, Consumer<RootBeanDefinition> settings) {
        RootBeanDefinition definition = new RootBeanDefinition(LockService.class);
        settings.accept(definition);
        beans.registerBeanDefinition(name, definition);
    }

    private static void define(DefaultListableBeanFactory beans, String name) {
        define(beans, name, definition -> {});
    }

    private AbstractThrowableAssert<?, ?> assertCheck() {
        return assertThatCode(() -> LockServiceCheck.check(beans, "@Locked"));
    }

    @Test
    void oneServiceIsEnoughHereOrInTheParent() {
        define(parent, "ofParent");
        assertCheck().doesNotThrowAnyException();

        define(beans, "own");
        assertCheck().doesNotThrowAnyException();
    }

    @Test
    void noServiceIsRefused() {
        assertThatThrownBy(() -> LockServiceCheck.check(beans, "@Locked"))
                .isInstanceOf(LockAnnotationException.class)
                .hasMessageContaining("There are @Locked methods, but no LockService");
    }

    @Test
    void severalServicesAreRefused() {
        define(beans, "first");
        define(beans, "second");

        assertThatThrownBy(() -> LockServiceCheck.check(beans, "@Locked"))
                .isInstanceOf(LockAnnotationException.class)
                .hasMessageContaining("several LockServices, first, second:");
    }

    @Test
    void aPrimaryServiceIsChosenAlsoInTheParent() {
        define(parent, "other");
        define(parent, "primary", definition -> definition.setPrimary(true));

        assertCheck().doesNotThrowAnyException();
    }

    @Test
    void othersMayBeForQualifiersOrFallbacks() {
        define(beans, "starters");
        define(beans, "archive", definition -> definition.setDefaultCandidate(false));
        define(beans, "hidden", definition -> definition.setAutowireCandidate(false));
        define(beans, "fallback", definition -> definition.setFallback(true));

        assertCheck().doesNotThrowAnyException();
    }
}

package io.github.holdfast.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringBootVersion;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.Ordered;

/**
 * Makes the start-up fail on Spring Boot 4. There, many classes are in other packages, and using them would end in a {@code
 * ClassNotFoundException}. This check uses none of the moved classes, and runs before the code that uses them.
 */
final class SpringBootVersionCheck implements ApplicationContextInitializer<ConfigurableApplicationContext>, Ordered {

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        refuse(SpringBootVersion.getVersion());
    }

    /**
     * Refuses other versions than 3.5 and later ones of 3. An unknown version is accepted. The version is unknown, for example, if all
     * jars are merged into one.
     */
    static void refuse(@Nullable String version) {
        if (version == null || version.matches("3\\.([5-9]|\\d\\d).*")) {
            return;
        }
        throw new LockSetupException(
                "lock-spring-boot3-starter needs Spring Boot 3.5, but this is Spring Boot " + version,
                "Depend on io.github.holdfast:lock-spring-boot-starter instead, which is for Spring Boot 4.0 and newer,"
                        + " and remove this one, or use Spring Boot 3.5.");
    }
}

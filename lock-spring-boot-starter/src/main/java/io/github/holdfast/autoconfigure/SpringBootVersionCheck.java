package io.github.holdfast.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringBootVersion;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.Ordered;

/**
 * Refuses to start on a Spring Boot in which much is in other packages: what uses them would end in a {@code ClassNotFoundException}. Uses
 * nothing that moved, and runs before anything does that does.
 */
final class SpringBootVersionCheck implements ApplicationContextInitializer<ConfigurableApplicationContext>, Ordered {

    private static final int OLDEST = 4;

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        String version = SpringBootVersion.getVersion();
        if (majorOf(version) < OLDEST) {
            throw new LockSetupException(
                    "lock-spring-boot-starter needs Spring Boot 4.0 or newer, but this is Spring Boot " + version,
                    "Use Spring Boot 4.0 or newer, which brings the Hibernate and the Spring Data that Holdfast is made for, or remove"
                            + " the dependency.");
        }
    }

    /** Of a version that is not known, as where all jars were made one, the newest. */
    private static int majorOf(@Nullable String version) {
        try {
            return version == null ? Integer.MAX_VALUE : Integer.parseInt(version.substring(0, version.indexOf('.')));
        } catch (NumberFormatException | IndexOutOfBoundsException unknown) {
            return Integer.MAX_VALUE;
        }
    }
}

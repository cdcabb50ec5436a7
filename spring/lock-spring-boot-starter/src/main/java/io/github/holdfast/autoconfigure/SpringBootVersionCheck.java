package io.github.holdfast.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringBootVersion;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.Ordered;

/**
 * Makes the start-up fail on an old Spring Boot. There, many classes are in other packages, and using them would end in a {@code
 * ClassNotFoundException}. This check uses none of the moved classes, and runs before the code that uses them.
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
                    "lock-spring-boot-starter needs Spring Boot 4.0 or newer, but this is Spring Boot " + version, """
                    Depend on io.github.holdfast:lock-spring-boot3-starter instead, which is for Spring Boot 3.5, and remove \
                    this one, or use Spring Boot 4.0 or newer.""");
        }
    }

    /**
     * Returns the major version. An unknown version counts as the newest. The version is unknown, for example, if all jars are
     * merged into one.
     */
    private static int majorOf(@Nullable String version) {
        try {
            return version == null ? Integer.MAX_VALUE : Integer.parseInt(version.substring(0, version.indexOf('.')));
        } catch (NumberFormatException | IndexOutOfBoundsException unknown) {
            return Integer.MAX_VALUE;
        }
    }
}

package io.github.holdfast.integration;

import io.github.holdfast.test.Database;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** Spring Boot applications with the starter and this module, as if each were in a process of its own. */
final class Application {

    private Application() {}

    /** Starts one on a database, with these properties besides: {@code name=value}. */
    static ConfigurableApplicationContext start(Database database, Class<?> configuration, String... properties) {
        Map<String, Object> all = new TreeMap<>(Map.of(
                "spring.main.banner-mode",
                "off",
                "logging.level.root",
                "error",
                "spring.datasource.url",
                database.url(),
                "spring.datasource.username",
                database.user(),
                "spring.datasource.password",
                database.password(),
                "holdfast.schema.management",
                "sql"));
        for (String property : properties) {
            int equals = property.indexOf('=');
            all.put(property.substring(0, equals), property.substring(equals + 1));
        }
        return new SpringApplicationBuilder(configuration)
                .web(WebApplicationType.NONE)
                .registerShutdownHook(false)
                .properties(all)
                .run();
    }
}

package io.github.holdfast.console;

import io.github.holdfast.service.LockService;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.server.WebServer;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/** A Spring Boot web application with Tomcat, Spring Security as it comes, and the console. Its user is alice. */
final class ConsoleApplication implements AutoCloseable {

    static final String USER = "alice";
    static final String PASSWORD = "in wonderland";

    private final ConfigurableApplicationContext context;

    @EnableAutoConfiguration
    static class Shop {}

    private ConsoleApplication(ConfigurableApplicationContext context) {
        this.context = context;
    }

    static ConsoleApplication start() {
        Map<String, Object> properties = new TreeMap<>(Map.of(
                "spring.application.name", "shop",
                "spring.main.banner-mode", "off",
                "logging.level.root", "warn",
                "spring.datasource.url", "jdbc:h2:mem:" + UUID.randomUUID(),
                "spring.jpa.open-in-view", "false",
                "spring.liquibase.enabled", "false",
                "spring.security.user.name", USER,
                "spring.security.user.password", PASSWORD));
        properties.putAll(Map.of(
                "server.port", "0",
                "server.address", "127.0.0.1",
                "management.endpoints.web.exposure.include", "locks",
                "holdfast.schema.management", "sql",
                "holdfast.endpoint.force-release", "enabled",
                "holdfast.console.enabled", "true",
                "holdfast.console.force-release", "enabled"));
        return new ConsoleApplication(new SpringApplicationBuilder(Shop.class)
                .web(WebApplicationType.SERVLET)
                .registerShutdownHook(false)
                .properties(properties)
                .run());
    }

    LockService locks() {
        return context.getBean(LockService.class);
    }

    <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    String url(String path) {
        return "http://127.0.0.1:" + server().getPort() + path;
    }

    private WebServer server() {
        return Objects.requireNonNull(((WebServerApplicationContext) context).getWebServer());
    }

    /** From here on, nobody answers. */
    void stopServer() {
        server().stop();
    }

    @Override
    public void close() {
        context.close();
    }
}

package io.github.holdfast.autoconfigure;

import io.github.holdfast.test.Database;
import java.util.Map;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.mock.web.MockServletContext;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** An application with Actuator over HTTP, whose lock service has all listeners. */
final class EndpointApplication {

    private EndpointApplication() {}

    @EndpointAutoConfigurations
    @Configuration(proxyBeanMethods = false)
    static class Application {}

    static AnnotationConfigWebApplicationContext start(Database database, Map<String, Object> properties) {
        AnnotationConfigWebApplicationContext started = new AnnotationConfigWebApplicationContext();
        started.setServletContext(new MockServletContext());
        started.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
        started.getEnvironment()
                .getPropertySources()
                .addLast(new MapPropertySource(
                        "all",
                        Map.of(
                                "management.endpoints.web.exposure.include", "*",
                                "management.endpoint.health.show-details", "always")));
        started.addBeanFactoryPostProcessor(beans -> beans.registerSingleton("database", database));
        started.register(ObservedService.class, Application.class);
        started.refresh();
        return started;
    }
}

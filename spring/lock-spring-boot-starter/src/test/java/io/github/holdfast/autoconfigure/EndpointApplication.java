package io.github.holdfast.autoconfigure;

import io.github.holdfast.test.Database;
import java.util.Map;
import org.springframework.boot.actuate.autoconfigure.endpoint.EndpointAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.endpoint.jackson.JacksonEndpointAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointAutoConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementContextAutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.health.autoconfigure.actuate.endpoint.HealthEndpointAutoConfiguration;
import org.springframework.boot.health.autoconfigure.contributor.HealthContributorAutoConfiguration;
import org.springframework.boot.health.autoconfigure.registry.HealthContributorRegistryAutoConfiguration;
import org.springframework.boot.http.converter.autoconfigure.HttpMessageConvertersAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.servlet.autoconfigure.actuate.web.ServletManagementContextAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.mock.web.MockServletContext;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** An application with Actuator over HTTP, whose lock service has all listeners. */
final class EndpointApplication {

    private EndpointApplication() {}

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        EndpointAutoConfiguration.class,
        WebEndpointAutoConfiguration.class,
        JacksonEndpointAutoConfiguration.class,
        ManagementContextAutoConfiguration.class,
        ServletManagementContextAutoConfiguration.class,
        HealthEndpointAutoConfiguration.class,
        HealthContributorAutoConfiguration.class,
        HealthContributorRegistryAutoConfiguration.class,
        HttpMessageConvertersAutoConfiguration.class,
        JacksonAutoConfiguration.class,
        DispatcherServletAutoConfiguration.class,
        WebMvcAutoConfiguration.class,
        LockMetricsAutoConfiguration.class,
        LockEndpointAutoConfiguration.class,
        LockHealthAutoConfiguration.class
    })
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

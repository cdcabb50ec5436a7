package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.annotation.Locked;
import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.http.converter.autoconfigure.HttpMessageConvertersAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.WebApplicationContext;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.ModelAndView;

/** What a client is answered if a lock was refused or lost. */
@OnDatabase(TestDatabase.H2_MEMORY)
class LockErrorsTest {

    private static final String PROBLEM_DETAILS = "spring.mvc.problemdetails.enabled=true";

    private final WebApplicationContextRunner application = new WebApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HttpMessageConvertersAutoConfiguration.class,
                    JacksonAutoConfiguration.class,
                    DispatcherServletAutoConfiguration.class,
                    WebMvcAutoConfiguration.class,
                    LockErrorsAutoConfiguration.class))
            .withUserConfiguration(Failures.class);

    @Test
    void methodsAreRefusedTheirLockOrLoseIt(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        application
                .withBean(Database.class, () -> database)
                .withUserConfiguration(ObservedService.class, LockedAutoConfiguration.class, Desk.class)
                .withPropertyValues(PROBLEM_DETAILS, "holdfast.web.retry-after=1500ms")
                .run(context -> {
                    MockMvcTester http = MockMvcTester.from(context);
                    LockService locks = context.getBean(LockService.class);
                    try (LockHandle held =
                            locks.acquire(LockRequest.of("order:7")).detach()) {
                        assertThat(http.get().uri("/orders/7"))
                                .hasStatus(HttpStatus.SERVICE_UNAVAILABLE)
                                .hasHeader("Retry-After", "2")
                                .hasContentType(MediaType.APPLICATION_PROBLEM_JSON)
                                .bodyText()
                                .contains("in use", "\"status\":503")
                                .doesNotContain("order:7");
                    }
                    assertThat(http.get().uri("/orders/8"))
                            .hasStatus(HttpStatus.CONFLICT)
                            .doesNotContainHeader("Retry-After")
                            .bodyText()
                            .contains("interrupted", "\"status\":409")
                            .doesNotContain("order:8");
                    assertThat(http.get().uri("/orders/9")).hasStatusOk();
                });
    }

    @Test
    void theBodyIsThatOfTheApplicationsOtherErrors() {
        application.run(context -> {
            assertThat(get(context, "/not-acquired"))
                    .hasStatus(HttpStatus.SERVICE_UNAVAILABLE)
                    .hasHeader("Retry-After", "1")
                    .hasErrorMessage("Something that this request needs is in use. Please try again.");
            assertThat(get(context, "/deadlock"))
                    .hasStatus(HttpStatus.SERVICE_UNAVAILABLE)
                    .hasHeader("Retry-After", "1");
            assertThat(get(context, "/lost")).hasStatus(HttpStatus.CONFLICT);
            assertThat(get(context, "/mistake")).failure().hasCauseInstanceOf(IllegalStateException.class);
        });
    }

    @Test
    void theApplicationsOwnStatusWins() {
        application.run(context -> {
            assertThat(get(context, "/own-status")).hasStatus(HttpStatus.LOCKED);
            assertThat(get(context, "/own-exception")).hasStatus(HttpStatus.GONE);
        });
        application
                .withUserConfiguration(OwnHandler.class)
                .run(context -> assertThat(get(context, "/not-acquired")).hasStatus(HttpStatus.TOO_MANY_REQUESTS));
        application
                .withBean(OwnResolver.class)
                .run(context -> assertThat(get(context, "/not-acquired")).hasStatus(HttpStatus.TOO_EARLY));
    }

    @Test
    void itCanBeSwitchedOff() {
        for (String off : List.of("holdfast.web.map-exceptions=false", "holdfast.enabled=false")) {
            application.withPropertyValues(off).run(context -> {
                assertThat(context).hasNotFailed().doesNotHaveBean(LockErrorResolver.class);
                assertThat(get(context, "/not-acquired"))
                        .failure()
                        .hasRootCauseInstanceOf(LockNotAcquiredException.class);
            });
        }
    }

    @Test
    void withoutSpringMvcThereIsNothing() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockErrorsAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastErrorResolver"));
        new WebApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockErrorsAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastErrorResolver"));
        new WebApplicationContextRunner()
                .withClassLoader(new FilteredClassLoader("org.springframework.web.servlet"))
                .withConfiguration(AutoConfigurations.of(LockErrorsAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("holdfastErrorResolver"));
    }

    private static MvcTestResult get(WebApplicationContext context, String path) {
        return MockMvcTester.from(context).get().uri(path).exchange();
    }

    @RestController
    static class Desk {

        private final LockService locks;

        Desk(LockService locks) {
            this.locks = locks;
        }

        @GetMapping("/orders/{id}")
        @Locked(name = "order:{#id}", waitAtMost = "0s")
        public String ship(@PathVariable int id) {
            if (id == 8) {
                locks.admin().forceRelease("order:8", "the test wants it");
            }
            return "shipped";
        }
    }

    @RestController
    static class Failures {

        private final LockNotAcquiredException notAcquired =
                new LockNotAcquiredException("order:1", Duration.ofSeconds(10), "held by somebody");

        private final Map<String, Exception> failures = Map.of(
                "not-acquired", notAcquired,
                "deadlock", new LockDeadlockException("order:1", List.of(), StoreException.overtaken()),
                "lost", new LockLostException("order:1", LossCause.EXPIRED, "too late"),
                "mistake", new IllegalStateException("a mistake", notAcquired),
                "own-status", new ResponseStatusException(HttpStatus.LOCKED, "busy", notAcquired),
                "own-exception", new OwnException(notAcquired));

        @GetMapping("/{name}")
        String fail(@PathVariable String name) throws Exception {
            throw failures.get(name);
        }
    }

    @ResponseStatus(HttpStatus.GONE)
    private static final class OwnException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private OwnException(Exception cause) {
            super(cause);
        }
    }

    @RestControllerAdvice
    static class OwnHandler {

        @ExceptionHandler
        @ResponseStatus(HttpStatus.TOO_MANY_REQUESTS)
        String any(RuntimeException any) {
            return "mine";
        }
    }

    /** It has no order, and so the same as the last one. */
    private static final class OwnResolver implements HandlerExceptionResolver {

        @Override
        public @Nullable ModelAndView resolveException(
                HttpServletRequest request, HttpServletResponse response, @Nullable Object handler, Exception thrown) {
            response.setStatus(HttpStatus.TOO_EARLY.value());
            return new ModelAndView();
        }
    }
}

package io.github.holdfast.service.engine.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.service.LockService;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the threads of a service, which live as long as it does, take from the one that happens to start them. */
class BackgroundThreadsTest {

    private static final InheritableThreadLocal<String> TENANT = new InheritableThreadLocal<>();

    @Test
    void theThreadsOfAServiceInheritNothingFromTheRequestThatStartedThem() throws Exception {
        FutureTask<String> tenant = new FutureTask<>(TENANT::get);
        TENANT.set("of the first request");
        try {
            Background.threads("daemon").newThread(tenant).start();
            assertThat(tenant.get(60, TimeUnit.SECONDS)).isNull();
        } finally {
            TENANT.remove();
        }
    }

    @Test
    void theThreadsOfAServiceKeepNoClassLoaderOfTheRequestThatStartedThem() throws Exception {
        FutureTask<ClassLoader> loader =
                new FutureTask<>(() -> Thread.currentThread().getContextClassLoader());
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader ofTheRequest = new URLClassLoader(new URL[0], before)) {
            Thread.currentThread().setContextClassLoader(ofTheRequest);
            Background.threads("daemon").newThread(loader).start();
            assertThat(loader.get(60, TimeUnit.SECONDS)).isSameAs(LockService.class.getClassLoader());
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    @Test
    void theThreadsOfAServiceDoNotKeepTheProcessAlive() {
        Thread thread = Background.threads("daemon").newThread(() -> {});
        assertThat(thread.isDaemon()).isTrue();
        assertThat(thread.getName()).isEqualTo("daemon");
    }
}

package io.github.holdfast.annotation;

import io.github.holdfast.annotation.Locked.OnContention;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.ReleaseOutcome;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.AliasFor;

/** Beans with methods that need permits. */
@Configuration(proxyBeanMethods = false)
class LimitedBeans {

    /** What was granted (+) and released (-), in order. */
    static class Recorded implements LockListener {

        private final List<String> events = new CopyOnWriteArrayList<>();

        List<String> events() {
            return events;
        }

        @Override
        public void acquired(String lockName, long fencingToken, Duration waited) {
            events.add("+" + lockName);
        }

        @Override
        public void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {
            events.add("-" + lockName);
        }
    }

    /** No interface: its proxy is a subclass. */
    static class Exports {

        private final Recorded recorded;

        Exports(Recorded recorded) {
            this.recorded = recorded;
        }

        @Limited(name = "two", limit = "2", waitAtMost = "30s")
        public String byTwo(Callable<String> work) throws Exception {
            return work.call();
        }

        @Limited(value = "exports:{@area}:{#customer}", limit = "1", waitAtMost = "0s")
        public void of(@Nullable String customer) {}

        @Limited(limit = "${holdfast.test.limit:3}", permits = 2, waitAtMost = "0s")
        @Locked
        public void pair() {}

        @Limited(name = "one", limit = "1", waitAtMost = "0s")
        public String required(Callable<String> work) throws Exception {
            return work.call();
        }

        @Limited(name = "one", limit = "1")
        public void interruptible() throws InterruptedException {}

        @Limited(name = "one", limit = "1", waitAtMost = "0s", onContention = OnContention.SKIP)
        public Optional<String> skipped() {
            return Optional.of("done");
        }

        @Limited(name = "one", limit = "1", waitAtMost = "0s", fallback = "insteadBecause")
        public String withFallback(String id) {
            return "done";
        }

        String insteadBecause(String id, LockNotAcquiredException contention) {
            return "instead of " + id + ": " + contention.lockName().orElseThrow();
        }

        @Limited(name = "leased", limit = "1", lease = "50ms")
        public String leased(Callable<String> work) throws Exception {
            return work.call();
        }

        @Limited(name = "both permits", limit = "1", waitAtMost = "20s")
        @Locked(name = "both lock", waitAtMost = "20s")
        public void both() {
            recorded.events().add("work");
        }

        @Locked(name = "both lock", waitAtMost = "0s", fallback = "insteadOfBoth")
        @Limited(name = "both permits", limit = "1", waitAtMost = "0s", onContention = OnContention.SKIP)
        public @Nullable String bothAtOnce(String id) {
            return "done";
        }

        String insteadOfBoth(String id) {
            recorded.events().add("fallback");
            return "instead of " + id;
        }

        @Limited(name = "both permits", limit = "1", waitAtMost = "0s")
        @Locked(name = "both lock {#id}", waitAtMost = "0s")
        public void bothNamed(@Nullable String id) {}

        @Limited(name = "later permits", limit = "1", waitAtMost = "0s")
        @Locked(name = "later lock", waitAtMost = "0s")
        public CompletableFuture<String> later(CompletableFuture<String> work) {
            return work;
        }
    }

    /** An interface: its proxy is one of the interface. */
    @Limited(name = "board", limit = "1")
    interface Board {

        @Limited(name = "board:{#topic}", limit = "1")
        void post(String topic);

        void clear();

        void lock();

        void limit();
    }

    static class Wall implements Board {

        @Override
        public void post(String topic) {}

        @Override
        public void clear() {}

        @Override
        @Locked("board lock")
        public void lock() {}

        @Override
        @Scarce("scarce")
        public void limit() {}
    }

    /** An annotation of the application's own. */
    @Limited(limit = "1")
    @Retention(RetentionPolicy.RUNTIME)
    @interface Scarce {

        @AliasFor(annotation = Limited.class, attribute = "name")
        String value();
    }

    @Bean
    Recorded recorded() {
        return new Recorded();
    }

    @Bean
    String area() {
        return "north";
    }

    @Bean
    Exports exports(Recorded recorded) {
        return new Exports(recorded);
    }

    @Bean
    Board board() {
        return new Wall();
    }
}

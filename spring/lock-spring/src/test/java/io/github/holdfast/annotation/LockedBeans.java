package io.github.holdfast.annotation;

import static java.util.Objects.requireNonNull;

import io.github.holdfast.annotation.Locked.OnContention;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.annotation.AliasFor;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.data.repository.CrudRepository;

/** Beans with locked methods. */
@Configuration(proxyBeanMethods = false)
@EnableJpaRepositories(considerNestedRepositories = true)
class LockedBeans {

    /** Which locks were granted. */
    static class Recorded implements LockListener {

        private final List<String> names = new CopyOnWriteArrayList<>();

        List<String> names() {
            return names;
        }

        @Override
        public void acquired(String lockName, long fencingToken, Duration waited) {
            names.add(lockName);
        }
    }

    /** No interface: its proxy is a subclass. */
    static class Desk {

        @Locked("desk:{@area}:{#id}")
        public void serve(@Nullable String id) {}

        @Locked
        public void open() {}

        @Locked
        void open(int unused) {}

        @Locked("desk:{#from}")
        @Locked(name = "desk:{#to}", waitAtMost = "0s")
        public void move(String from, String to) {}

        @Locked(name = "desk", waitAtMost = "50ms")
        public void required() {}

        @Locked("desk")
        public void interruptible() throws InterruptedException {}

        @Locked(name = "desk", waitAtMost = "0s", onContention = OnContention.SKIP)
        public void skipped() {}

        @Locked(name = "desk", waitAtMost = "0s", onContention = OnContention.SKIP)
        public @Nullable String skippedObject() {
            return "done";
        }

        @Locked(name = "desk", waitAtMost = "0s", onContention = OnContention.SKIP)
        public Optional<String> skippedOptional() {
            return Optional.of("done");
        }

        @Locked(name = "desk", waitAtMost = "0s", onContention = OnContention.SKIP)
        public CompletionStage<String> skippedStage() {
            return CompletableFuture.completedStage("done");
        }

        @Locked(name = "skipped", onContention = OnContention.SKIP)
        public @Nullable String skippedBut(Callable<@Nullable String> work) throws Exception {
            return work.call();
        }

        @Locked(name = "desk", waitAtMost = "0s", fallback = "instead")
        public String withFallback(String id) {
            return "done";
        }

        @SuppressWarnings("UnusedMethod")
        private String instead(String id) {
            return "instead of " + id;
        }

        @Locked(name = "desk", waitAtMost = "0s", fallback = "insteadBecause")
        public String withCause(String id) {
            return "done";
        }

        String insteadBecause(String id, LockNotAcquiredException contention) {
            return "instead of " + id + ": " + contention.lockName().orElseThrow();
        }

        @Locked("desk")
        public String call(Callable<String> work) throws Exception {
            return work.call();
        }

        @Locked("{#name}")
        public String named(String name, Callable<String> work) throws Exception {
            return work.call();
        }

        /** Its type does not show what it returns. */
        @Locked(name = "desk", waitAtMost = "0s")
        public @Nullable Object returning(@Nullable Object result) {
            return result;
        }

        @Locked(name = "row", rowLock = true)
        public @Nullable Object returningByRow(@Nullable Object result) {
            return result;
        }

        @Locked(name = "fenced", fence = Locked.Fence.REQUIRED)
        public @Nullable Object returningFenced(@Nullable Object result) {
            return result;
        }

        @Locked(name = "row", rowLock = true)
        public String byRow(Callable<String> work) throws Exception {
            return work.call();
        }

        @Locked(name = "shared", mode = LockMode.SHARED, waitAtMost = "0s")
        public String together(Callable<String> work) throws Exception {
            return work.call();
        }

        @Locked(name = "fair", fair = true, waitAtMost = "0s")
        public String inOrder(Callable<String> work) throws Exception {
            return work.call();
        }

        @Locked(name = "later", waitAtMost = "100ms")
        public CompletableFuture<String> later(@Nullable CompletableFuture<String> work) {
            return requireNonNull(work);
        }

        @Locked("{#name}")
        public CompletableFuture<String> namedLater(String name, CompletableFuture<String> work) {
            return work;
        }
    }

    /** An interface: its proxy is one of the interface. */
    interface Board {

        @Locked("board:{#topic}")
        void post(String topic);

        void clear();
    }

    static class Wall implements Board {

        @Override
        public void post(String topic) {}

        @Override
        @Exclusive("board")
        public void clear() {}
    }

    /** An annotation of the application's own. */
    @Locked(waitAtMost = "1s")
    @Retention(RetentionPolicy.RUNTIME)
    @interface Exclusive {

        @AliasFor(annotation = Locked.class, attribute = "name")
        String value();
    }

    /** The compiler makes a bridge from the parameter's type here to that below. */
    interface Book<T> {

        void book(T entry);
    }

    static class Ledgers implements Book<Integer> {

        @Override
        @Locked("ledger:{#entry}")
        public void book(Integer entry) {}
    }

    /** Made by Spring Data, behind a proxy of its own. */
    @Locked
    interface Rows extends CrudRepository<LockEntity, String> {

        @Query("select count(l) from HoldfastLock l")
        long rows();
    }

    /** Behind two proxies, of which only the inner one locks. */
    static class Visitor {

        @Locked("visitor")
        public void visit() {}
    }

    @Locked("post")
    interface Post {

        void send();
    }

    static class Office implements Post {

        @Override
        @Locked("office")
        public void send() {}
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
    Desk desk() {
        return new Desk();
    }

    @Bean
    @Scope(scopeName = ConfigurableBeanFactory.SCOPE_PROTOTYPE, proxyMode = ScopedProxyMode.TARGET_CLASS)
    Visitor visitor() {
        return new Visitor();
    }

    @Bean
    Board board() {
        return new Wall();
    }

    @Bean
    Book<Integer> ledgers() {
        return new Ledgers();
    }

    @Bean
    Post post() {
        return new Office();
    }
}

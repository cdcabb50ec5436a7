package io.github.holdfast.annotation;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import io.github.resilience4j.circuitbreaker.annotation.CircuitBreaker;
import io.github.resilience4j.retry.annotation.Retry;
import io.github.resilience4j.spring6.circuitbreaker.configure.CircuitBreakerConfiguration;
import io.github.resilience4j.spring6.circuitbreaker.configure.CircuitBreakerConfigurationProperties;
import io.github.resilience4j.spring6.retry.configure.RetryConfiguration;
import io.github.resilience4j.spring6.retry.configure.RetryConfigurationProperties;
import jakarta.validation.constraints.Positive;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.springframework.cache.annotation.CacheEvict;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.retry.annotation.Backoff;
import org.springframework.retry.annotation.EnableRetry;
import org.springframework.retry.annotation.Retryable;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.validation.annotation.Validated;
import org.springframework.validation.beanvalidation.MethodValidationPostProcessor;

/** Beans whose methods have locks beside the advice of all libraries that people combine with them. */
@Configuration(proxyBeanMethods = false)
@EnableAsync(order = 0)
@EnableCaching
@EnableMethodSecurity
@EnableResilientMethods
@EnableRetry
@EnableTransactionManagement
@Import({
    AdviceDesk.Locks.class,
    AdviceDesk.Tasks.class,
    RetryConfiguration.class,
    RetryConfigurationProperties.class,
    CircuitBreakerConfiguration.class,
    CircuitBreakerConfigurationProperties.class,
    LeaderOnlyConfiguration.class,
    ScheduledLockConfiguration.class
})
class AdviceDesk {

    static final String LOCK = "desk";

    static final int ATTEMPTS = 3;

    /** What happened, in order. */
    static class Events implements LockListener, TransactionSynchronization {

        final List<String> told = new CopyOnWriteArrayList<>();

        @Override
        public void acquired(String lockName, long fencingToken, Duration waited) {
            told.add("acquired");
        }

        @Override
        public void refused(String lockName, Duration waited) {
            told.add("refused");
        }

        @Override
        public void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {
            told.add("released");
        }

        @Override
        public void afterCompletion(int status) {
            told.add(status == STATUS_COMMITTED ? "committed" : "rolled back");
        }
    }

    @Bean
    Events events() {
        return new Events();
    }

    @Bean
    LeaderElection election(LockService locks) {
        return locks.election(ElectionRequest.of("office"));
    }

    @Bean
    ConcurrentMapCacheManager caches() {
        return new ConcurrentMapCacheManager();
    }

    @Bean
    static MethodValidationPostProcessor validation() {
        return new MethodValidationPostProcessor();
    }

    static class Work {

        private final Events events;

        Work(Events events) {
            this.events = events;
        }

        Events events() {
            return events;
        }

        int done() {
            events.told.add("work");
            return 1;
        }

        /** Does the work at the last attempt. */
        void tried() {
            events.told.add("tried");
            if (events.told.stream().filter("tried"::equals).count() < ATTEMPTS) {
                throw new IllegalStateException("Try again");
            }
        }
    }

    @Validated
    static class Locks extends Work {

        Locks(Events events) {
            super(events);
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        public void validated(@Positive int number) {
            done();
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @Transactional
        @Positive
        public int result(int number) {
            TransactionSynchronizationManager.registerSynchronization(events());
            return number;
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @PreAuthorize("denyAll")
        public void secured() {
            done();
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @Transactional
        @Retryable(maxAttempts = ATTEMPTS, backoff = @Backoff(delay = 0))
        public void springRetry() {
            tried();
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @Transactional
        @org.springframework.resilience.annotation.Retryable(maxRetries = ATTEMPTS - 1, delay = 0)
        public void spring7() {
            tried();
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @Transactional
        @Retry(name = "desk")
        public void resilience4j() {
            tried();
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @CircuitBreaker(name = "desk")
        public void breaker() {
            done();
        }

        @Limited(name = "seats", limit = "1", waitAtMost = "0s")
        @Locked(name = LOCK, waitAtMost = "0s")
        @Cacheable("desk")
        public int cached() {
            return done();
        }
    }

    @Validated
    static class Tasks extends Work {

        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch mayEnd = new CountDownLatch(1);

        Tasks(Events events) {
            super(events);
        }

        @ScheduledLock(name = "validated", every = "365d")
        public void validated(@Positive int number) {
            done();
        }

        @ScheduledLock(name = "secured", every = "365d")
        @PreAuthorize("hasRole('CLERK')")
        public void secured() {
            done();
        }

        @ScheduledLock(name = "springRetry", every = "365d")
        @Retryable(maxAttempts = ATTEMPTS, backoff = @Backoff(delay = 0))
        public void springRetry() {
            tried();
        }

        @ScheduledLock(name = "spring7", every = "365d")
        @org.springframework.resilience.annotation.Retryable(maxRetries = ATTEMPTS - 1, delay = 0)
        public void spring7() {
            tried();
        }

        @ScheduledLock(name = "resilience4j", every = "365d")
        @Retry(name = "desk")
        public void resilience4j() {
            tried();
        }

        @ScheduledLock(name = "breaker", every = "365d")
        @CircuitBreaker(name = "desk")
        public void breaker() {
            done();
        }

        @ScheduledLock(name = "evicting", every = "365d")
        @CacheEvict(cacheNames = "tasks", allEntries = true)
        public void evicting() {
            done();
        }

        @ScheduledLock(name = "background", every = "365d")
        @Async
        public void background() throws InterruptedException {
            begun.countDown();
            mayEnd.await();
        }

        @ScheduledLock(name = "leading", every = "365d")
        @LeaderOnly("office")
        public void leading() {
            done();
        }

        void awaitBackground() throws InterruptedException {
            begun.await();
        }

        void endBackground() {
            mayEnd.countDown();
        }

        @ScheduledLock(name = "all", every = "365d")
        @Locked(name = LOCK, waitAtMost = "0s")
        @PreAuthorize("hasRole('CLERK')")
        @Retry(name = "desk")
        @CircuitBreaker(name = "desk")
        @Transactional
        public void all(@Positive int number) {
            tried();
        }
    }
}

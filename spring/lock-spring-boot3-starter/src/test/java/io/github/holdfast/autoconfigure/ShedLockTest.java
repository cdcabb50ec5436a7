package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;

/** The annotations of the last ShedLock for Spring 6, with the provider of {@code lock-shedlock}. */
class ShedLockTest {

    @Test
    void aTaskRunsUnderALockOfHoldfast() throws InterruptedException {
        try (ConfigurableApplicationContext shop = new SpringApplicationBuilder(Shop.class)
                .web(WebApplicationType.NONE)
                .properties("spring.datasource.url=jdbc:h2:mem:shedlock", "spring.liquibase.enabled=false")
                .run()) {
            LockService locks = shop.getBean(LockService.class);
            Report report = shop.getBean(Report.class);
            try (LockHandle unused = locks.acquire(LockRequest.of("nightly-report"))) {
                report.write(locks);
            }
            assertThat(report.holders()).isEmpty();
            report.write(locks);
            assertThat(report.holders()).hasSize(1).allMatch(Optional::isPresent);
            assertThat(locks.find("nightly-report")).isEmpty();
        }
    }

    @EnableAutoConfiguration
    @EnableSchedulerLock(defaultLockAtMostFor = "10m")
    @Import(Report.class)
    static class Shop {}

    static class Report {

        private final List<Optional<LockInfo>> holders = new ArrayList<>();

        public List<Optional<LockInfo>> holders() {
            return holders;
        }

        @SchedulerLock(name = "nightly-report")
        public void write(LockService locks) {
            LockAssert.assertLocked();
            holders.add(locks.find("nightly-report"));
        }
    }
}

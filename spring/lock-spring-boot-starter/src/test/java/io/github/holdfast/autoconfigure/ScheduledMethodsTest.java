package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Shop;
import io.github.holdfast.annotation.LeaderOnly;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.ScheduledLock;
import io.github.holdfast.election.ElectionRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** What the log says at start of methods with {@code @Scheduled}. */
@ExtendWith(OutputCaptureExtension.class)
class ScheduledMethodsTest {

    private static final String JOBS = Jobs.class.getName();

    @Import({Shop.class, Jobs.class})
    static class Unscheduled {
        @Bean
        ElectionRequest leader() {
            return ElectionRequest.of("leader");
        }
    }

    @EnableScheduling
    static class Scheduling extends Unscheduled {}

    @EnableScheduling
    @Import({Shop.class, Tidy.class})
    static class AllLocked {}

    static class Jobs {
        @Scheduled(cron = "-")
        @ScheduledLock(name = "nightly", every = "1d")
        public void nightly() {}

        @ScheduledLock(name = "by hand", every = "1d")
        public void byHand() {}

        @Scheduled(cron = "-")
        @Locked("job")
        public void locked() {}

        @Scheduled(cron = "-")
        @LeaderOnly("leader")
        public void leading() {}

        @Scheduled(cron = "-")
        public void everywhere() {}

        @Scheduled(cron = "-")
        @Scheduled(cron = "${jobs.cron:-}")
        public void everywhereTwice() {}
    }

    static class Tidy {
        @Scheduled(cron = "-")
        @ScheduledLock(name = "nightly", every = "1d")
        public void nightly() {}
    }

    private static String linesOf(Class<?> application, CapturedOutput output, String... properties) {
        Application.of(application)
                .with("logging.level.io.github.holdfast=info")
                .with(properties)
                .run()
                .close();
        return String.join(
                "\n",
                output.getOut()
                        .lines()
                        .filter(line -> line.contains(".ScheduledLock "))
                        .toList());
    }

    @Test
    void whatEveryInstanceRunsIsNamed(CapturedOutput output) {
        assertThat(linesOf(Scheduling.class, output))
                .contains(" INFO ")
                .endsWith("Every instance of the application runs these @Scheduled methods, because they have no lock: "
                        + JOBS + ".everywhere, " + JOBS
                        + ".everywhereTwice. Add @ScheduledLock where one instance is enough."
                        + " holdfast.report-unlocked-tasks=false turns this message off")
                .hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"holdfast.report-unlocked-tasks=false", "holdfast.reportUnlockedTasks=FALSE"})
    void aPropertyTurnsTheLineOff(String property, CapturedOutput output) {
        assertThat(linesOf(Scheduling.class, output, property)).isEmpty();
    }

    @Test
    void nothingIsSaidIfAllMethodsHaveALock(CapturedOutput output) {
        assertThat(linesOf(AllLocked.class, output)).isEmpty();
    }

    @Test
    void tasksThatNothingCallsAreNamed(CapturedOutput output) {
        assertThat(linesOf(Unscheduled.class, output))
                .contains(" WARN ")
                .endsWith("Scheduling is off, so nothing calls these methods with @Scheduled and @ScheduledLock: "
                        + JOBS + ".nightly. Add @EnableScheduling to a configuration class")
                .hasLineCount(1);
    }
}

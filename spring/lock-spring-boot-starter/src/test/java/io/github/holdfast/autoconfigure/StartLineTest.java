package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Shop;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What the log of an application says to those who want to know whether Holdfast is active. */
@ExtendWith(OutputCaptureExtension.class)
class StartLineTest {

    private static final String SECRET = "correct horse battery staple";

    /** Returns what the name of the jar says; the classes are in no jar if the build makes none. */
    private static String version() {
        String path = LockService.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .getPath();
        Matcher jar = Pattern.compile(".*/lock-service-(.+)\\.jar").matcher(path);
        return jar.matches() ? jar.group(1) : "unknown";
    }

    private static void assertSays(String expected, Application application, CapturedOutput output) {
        application.with("logging.level.io.github.holdfast=info").run().close();
        assertThat(output.getOut().lines().filter(line -> line.contains("is active")))
                .singleElement()
                .asString()
                .contains(" INFO ", ".LockService ")
                .endsWith(" Holdfast is active: version " + version() + ", " + expected);
        assertThat(output.getAll()).doesNotContain(SECRET);
    }

    @Test
    void connectionsOfTheApplication(CapturedOutput output) {
        assertSays(
                "database H2, persistence unit 'default', connections of the application, waiting threads poll",
                Application.of(Shop.class),
                output);
    }

    @Test
    void oneOfSeveralUnits(CapturedOutput output) {
        assertSays(
                "database H2, persistence unit 'archive', connections of its own, waiting threads poll",
                Application.of(UserStyleTest.TwoUnitsWithLocksInTheSecond.class)
                        .with("holdfast.jpa.persistence-unit=archive"),
                output);
    }

    @Test
    void passwordsAreNotTold(CapturedOutput output) {
        assertSays(
                "database H2, persistence unit 'default', connections of its own, waiting threads poll",
                Application.of(Shop.class)
                        .with("spring.datasource.password=" + SECRET)
                        .with("holdfast.datasource.maximum-pool-size=5"),
                output);
    }

    @Test
    void nothingIsSaidWithoutLocks(CapturedOutput output) {
        Application.of(Shop.class)
                .with("logging.level.io.github.holdfast=info", "holdfast.enabled=false")
                .run()
                .close();

        assertThat(output).doesNotContain("is active");
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres {

        private Application on(Database database) {
            return Application.of(Shop.class)
                    .with("spring.datasource.url=" + database.url())
                    .with("spring.datasource.username=" + database.user())
                    .with("spring.datasource.password=" + database.password());
        }

        @Test
        void releasesWakeThreads(Database database, CapturedOutput output) {
            assertSays(
                    "database PostgreSQL, persistence unit 'default', connections of the application, waiting threads are"
                            + " woken",
                    on(database),
                    output);
        }

        @Test
        void wakeUpIsSwitchedOff(Database database, CapturedOutput output) {
            assertSays(
                    "database PostgreSQL, persistence unit 'default', connections of the application, waiting threads poll",
                    on(database).with("holdfast.wake-up=false"),
                    output);
        }
    }
}

package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.test.process.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("outage")
class RestartableDatabaseTest {

    private static final Duration LONG = Duration.ofMinutes(3);

    @TempDir
    private Path temporary = Path.of("set by JUnit");

    @ParameterizedTest
    @EnumSource(names = {"H2_TCP", "POSTGRESQL", "MARIADB", "MYSQL"})
    void whatIsCommittedOutlivesAKill(TestDatabase kind) {
        RestartableDatabase restartable = RestartableDatabase.start(kind);
        Database database = restartable.database();
        try (restartable) {
            database.execute("create table t (id int primary key)");
            for (int kills = 1; kills <= 2; kills++) {
                database.execute("insert into t values (" + kills + ")");
                restartable.kill();
                restartable.restart();
                assertThat(database.queryForLong("select count(*) from t")).isEqualTo(kills);
            }
        }
        assertThatThrownBy(() -> database.dataSource().getConnection()).isInstanceOf(SQLException.class);
    }

    @ParameterizedTest
    @EnumSource(names = {"H2_TCP", "POSTGRESQL", "MARIADB"})
    void nothingIsLeftAfterAJvmThatWasKilled(TestDatabase kind) throws Exception {
        Servers.of(kind); // Skips the test where it cannot start.
        try (JavaProcess user = JavaProcess.of(User.class)
                .jvmArgs("-Djava.io.tmpdir=" + temporary)
                .args(kind.name())
                .start()) {
            user.awaitLine("restarted"::equals, LONG);
            List<Path> directories = directories();
            assertThat(directories).isNotEmpty();
            user.kill();
            Remains.awaitNone(directories);
        }
    }

    private List<Path> directories() throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            return files.filter(file -> file.getFileName().toString().startsWith("holdfast-"))
                    .toList();
        }
    }

    @Test
    void aDatabaseWithoutAServerIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> RestartableDatabase.start(TestDatabase.H2_FILE));
    }

    static final class User {
        private User() {}

        @SuppressWarnings("resource") // That it is left open is the point.
        public static void main(String[] args) throws InterruptedException {
            JavaProcess.exitWithParent();
            RestartableDatabase restartable = RestartableDatabase.start(TestDatabase.valueOf(args[0]));
            restartable.kill();
            restartable.restart();
            System.out.println("restarted");
            Thread.currentThread().join();
        }
    }
}

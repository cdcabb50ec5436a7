package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ServersTest {

    private static final Duration LONG = Duration.ofMinutes(3);

    @TempDir
    private Path temporary = Path.of("set by JUnit");

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MYSQL"})
    void existingServerIsUsed(TestDatabase kind) {
        String[] address = ((JdbcServer) Servers.of(kind)).address().split(" ");
        String property = "holdfast.test." + kind.key();
        System.setProperty(property + ".url", address[0]);
        System.setProperty(property + ".user", address[1]);
        System.setProperty(property + ".password", address[2]);
        try {
            DatabaseServer existing = JdbcServer.existing(kind).orElseThrow();
            try (Database database = new Database(existing);
                    Database other = new Database(existing)) {
                database.execute("create table t (id int)");
                assertThat(database.user()).isEqualTo(address[1]);
                assertThat(database.url()).isNotEqualTo(other.url()).contains("/holdfast_");
            }
        } finally {
            System.clearProperty(property + ".url");
            System.clearProperty(property + ".user");
            System.clearProperty(property + ".password");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"H2_FILE", "POSTGRESQL", "MARIADB", "MYSQL"})
    void nothingIsLeftAfterTheJvm(TestDatabase kind) throws InterruptedException {
        try (JavaProcess user = user(kind)) {
            Path directory = directory(user);
            assertThat(directory).exists();
            user.kill();
            Remains.awaitNone(List.of(directory));
        }
    }

    @Test
    void nothingIsLeftAfterAnOrderlyEnd() throws InterruptedException {
        try (JavaProcess user = user(TestDatabase.MYSQL)) {
            Path directory = directory(user);
            user.send("exit");
            assertThat(user.waitFor(LONG)).isZero();
            Remains.awaitNone(List.of(directory));
        }
    }

    private JavaProcess user(TestDatabase kind) {
        Servers.of(kind); // Where it cannot start, the test is skipped here, and not failed by what the process says.
        return JavaProcess.of(User.class)
                .jvmArgs("-Djava.io.tmpdir=" + temporary)
                .args(kind.name())
                .start();
    }

    private static Path directory(JavaProcess user) throws InterruptedException {
        String prefix = "in ";
        return Path.of(user.awaitLine(line -> line.startsWith(prefix), LONG).substring(prefix.length()));
    }

    static final class User {
        private User() {}

        @SuppressWarnings("resource") // That it is left open is the point.
        public static void main(String[] args) throws InterruptedException {
            JavaProcess.commands(line -> System.exit(0));
            Database database = Database.create(TestDatabase.valueOf(args[0]));
            System.out.println("in " + location(database));
            Thread.currentThread().join();
        }

        private static String location(Database database) {
            return switch (database.kind()) {
                case POSTGRESQL -> {
                    database.administer("alter role holdfast with superuser");
                    yield Path.of(database.queryForString("show data_directory") + "/..")
                            .normalize()
                            .toString();
                }
                case MARIADB, MYSQL ->
                    Path.of(database.queryForString("select @@datadir") + "/..")
                            .normalize()
                            .toString();
                default ->
                    Path.of(database.url().replaceAll("jdbc:h2:file:|;.*", ""))
                            .resolveSibling(".")
                            .normalize()
                            .toString();
            };
        }
    }
}

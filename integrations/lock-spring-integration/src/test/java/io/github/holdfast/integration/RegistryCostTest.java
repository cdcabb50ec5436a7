package io.github.holdfast.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.locks.DistributedLock;

/**
 * What the operations of both registries cost in statements and commits; the table in {@code
 * docs/migrate/migrating-from-spring-integration.md} is this one.
 */
@OnEachDatabase
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
class RegistryCostTest {

    private static final Path DOCUMENT = ProjectDirectory.resolve("docs/migrate/migrating-from-spring-integration.md");

    private final List<String> table = new ArrayList<>();
    private CountingDataSource ours;
    private CountingDataSource theirs;

    @FunctionalInterface
    private interface Operation {
        void run() throws Exception;
    }

    @BeforeEach
    void prepare(Database database) {
        FormerNode.createTables(database);
        ours = new CountingDataSource(database.dataSource());
        theirs = new CountingDataSource(database.dataSource());
    }

    @Test
    void theTableIsWhatIsSent(Database database) throws Exception {
        try (Node node = Node.over(database, ours);
                Node other = Node.on(database);
                FormerNode former = FormerNode.over(database, theirs);
                FormerNode otherFormer = FormerNode.on(database);
                Worker worker = new Worker()) {
            DistributedLock lock = node.lock("counted");
            DistributedLock formerLock = former.registry().obtain("counted");
            lock.lock();
            lock.unlock();
            formerLock.lock();
            formerLock.unlock();
            row("lock, free, last held by this node", lock::lock, 1, 0, formerLock::lock, 2, 1);
            row("lock, nested in the same thread", lock::lock, 0, 0, formerLock::lock, 1, 1);
            row("unlock, nested", lock::unlock, 0, 0, formerLock::unlock, 0, 0);
            row(
                    "renewLock",
                    () -> node.registry().renewLock("counted"),
                    0,
                    0,
                    () -> former.registry().renewLock("counted"),
                    1,
                    1);
            row("unlock", lock::unlock, 1, 0, formerLock::unlock, 1, 1);
            row("lock with a time to live", () -> lock.lock(Way.TTL), 1, 0, () -> formerLock.lock(Way.TTL), 2, 1);
            row(
                    "lock with a time to live, nested",
                    () -> lock.lock(Way.TTL),
                    1,
                    0,
                    () -> formerLock.lock(Way.TTL),
                    1,
                    1);
            lock.unlock();
            formerLock.unlock();
            row(
                    "renewLock, with a time to live",
                    () -> node.registry().renewLock("counted", Way.TTL),
                    1,
                    0,
                    () -> former.registry().renewLock("counted", Way.TTL),
                    1,
                    1);
            row("unlock, with a time to live", lock::unlock, 1, 0, formerLock::unlock, 1, 1);
            worker.call(() -> {
                other.lock("counted").lock();
                otherFormer.registry().obtain("counted").lock(Duration.ofMinutes(5));
                return true;
            });
            assertThat(lock.tryLock()).isFalse();
            assertThat(formerLock.tryLock()).isFalse();
            row("tryLock, held by another node", lock::tryLock, 1, 0, formerLock::tryLock, 2, 1);
        }
        assertThat(Files.readString(DOCUMENT)).contains(String.join("\n", table));
    }

    private void row(
            String operation,
            Operation ourOperation,
            int ourStatements,
            int ourCommits,
            Operation theirOperation,
            int theirStatements,
            int theirCommits)
            throws Exception {
        assertCost(operation, ours, ourOperation, ourStatements, ourCommits);
        assertCost(operation + ", JdbcLockRegistry", theirs, theirOperation, theirStatements, theirCommits);
        table.add("| %s | %d, %d | %d, %d |"
                .formatted(operation, ourStatements, ourCommits, theirStatements, theirCommits));
    }

    private static void assertCost(
            String operation, CountingDataSource counting, Operation work, int statements, int commits)
            throws Exception {
        counting.reset();
        work.run();
        assertThat(counting.sql()).as(operation).hasSize(statements);
        assertThat(counting.commits()).as(operation + ": commits").isEqualTo(commits);
        assertThat(counting.rollbacks()).as(operation + ": rollbacks").isZero();
    }
}

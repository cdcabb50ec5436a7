package io.github.holdfast.liquibase;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.liquibase.LiquibaseLockRow.Seen;
import io.github.holdfast.liquibase.LiquibaseLockRow.State;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** The rows of the lock of Liquibase and of the locks of a service: the same columns, by the same rules. */
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS) // One service for all tests.
class LiquibaseSameRulesTest {

    private static final Duration LONG = ofSeconds(30);

    /** What is different with each grant, and what people read. */
    private static final Set<String> ONLY_WHETHER_IT_IS_THERE = Set.of(
            "id",
            "lock_name",
            "name",
            "owner",
            "holder",
            "acquired_at",
            "expires_at",
            "available_at",
            "done_at",
            "done_by",
            "reason");

    private Database database;
    private RealService real;

    @BeforeAll
    void open(Database database) {
        this.database = database;
        real = RealService.on(database);
    }

    @AfterAll
    void close() {
        real.close();
    }

    private LiquibaseLockRow row(String name, Duration lease) {
        return LiquibaseLock.on(database.dataSource()).lease(lease).row(name);
    }

    /** Acquires the lock, and returns its token. */
    private static long granted(LiquibaseLockRow row, String owner) throws SQLException {
        Seen seen = row.readOrCreate();
        assertThat(seen.state()).isEqualTo(State.FREE);
        assertThat(row.grant(seen, owner, "somebody")).isTrue();
        return seen.token() + 1;
    }

    @Test
    void theRowsAreTheSameColumnByColumn() throws Exception {
        LiquibaseLockRow row = row("rows:ours", LONG);
        long token = granted(row, "me");
        LockHandle handle = real.locks().acquire(LockRequest.of("rows:real").lease(LONG));
        assertThat(lock("rows:ours")).isEqualTo(lock("rows:real")).containsEntry("hold_count", "1");
        assertThat(left("rows:ours")).isBetween(ofSeconds(20), LONG);
        assertThat(row.extend("me", token)).isTrue();
        handle.renew(LONG);
        assertThat(lock("rows:ours")).isEqualTo(lock("rows:real"));
        assertThat(row.release("me", token)).isTrue();
        handle.release();
        assertThat(lock("rows:ours")).isEqualTo(lock("rows:real")).containsEntry("owner", "null");
        // Once more, when the row is there.
        granted(row, "me");
        LockHandle again = real.locks().acquire(LockRequest.of("rows:real").lease(LONG));
        assertThat(lock("rows:ours")).isEqualTo(lock("rows:real"));
        again.release();
    }

    @Test
    void eachSeesAndRefusesWhatTheOtherHolds() throws Exception {
        LiquibaseLockRow row = row("refused", LONG);
        long token = granted(row, "me");
        LockRequest request = LockRequest.of("refused").lease(LONG);
        assertThat(real.locks().tryAcquire(request)).isEmpty();
        LockInfo info = real.locks().find("refused").orElseThrow();
        assertThat(info.holder()).isEqualTo("somebody");
        assertThat(info.fencingToken()).isEqualTo(token);
        assertThat(info.expiresIn()).isBetween(ofSeconds(20), LONG);
        assertThat(row.release("me", token)).isTrue();

        try (LockHandle handle = real.locks().acquire(request)) {
            Seen seen = row.readOrCreate();
            assertThat(seen.state()).isEqualTo(State.HELD);
            assertThat(seen.token()).isEqualTo(handle.fencingToken()).isGreaterThan(token);
            assertThat(requireNonNull(seen.untilFree())).isBetween(ofSeconds(20), LONG);
            assertThat(row.release("me", token)).as("an old grant").isFalse();
            assertThat(row.extend("me", token)).as("an old grant").isFalse();
        }
        assertThat(row.readOrCreate().state()).isEqualTo(State.FREE);
    }

    @Test
    void eachTakesOverWhenTheLeaseOfTheOtherIsOverAndNotBefore() throws Exception {
        LiquibaseLockRow row = row("takeover", ofSeconds(1));
        long first = granted(row, "me");
        LockHandle handle = real.locks()
                .acquire(LockRequest.of("takeover").lease(ofSeconds(6)).waitAtMost(LONG));
        assertThat(handle.fencingToken()).isGreaterThan(first);
        assertThat(row.extend("me", first)).isFalse();
        assertThat(row.release("me", first)).isFalse();

        assertThat(row.readOrCreate().state()).isEqualTo(State.HELD);
        await().atMost(LONG).until(() -> row.readOrCreate().state() == State.FREE);
        assertThat(granted(row, "me again")).isGreaterThan(handle.fencingToken());
        assertThat(handle.release().name()).isEqualTo("LOST");
    }

    @Test
    void aTakeoverWaitsForTheClockTolerance() throws Exception {
        LiquibaseLockRow row = LiquibaseLock.on(database.dataSource())
                .lease(ofSeconds(1))
                .clockTolerance(ofSeconds(10))
                .row("tolerance");
        long token = granted(row, "me");
        await().atMost(LONG).until(() -> Duration.ZERO.equals(row.readOrCreate().untilFree()));
        assertThat(row.readOrCreate().state()).isEqualTo(State.HELD);
        assertThat(row.extend("me", token)).isFalse();
        await().atMost(LONG).until(() -> row.readOrCreate().state() == State.FREE);
    }

    @Test
    void onlyOneOfTwoThatSawTheSameRowGetsTheLock() throws Exception {
        LiquibaseLockRow row = row("race", LONG);
        Seen seen = row.readOrCreate();
        try (LockHandle handle = real.locks().acquire(LockRequest.of("race").lease(LONG))) {
            assertThat(row.grant(seen, "me", "somebody")).isFalse();
            assertThat(handle.state()).isEqualTo(LockState.HELD);
        }
        assertThat(row.grant(seen, "me", "somebody")).isFalse();
    }

    @Test
    void aLockThatLivesWithItsNodeIsRefusedUntilTheNodeIsDead() throws Exception {
        LiquibaseLockRow row = row("node", LONG);
        try (RealService other = RealService.on(database)) {
            LockHandle handle = other.locks().acquire(LockRequest.of("node"));
            Seen seen = row.readOrCreate();
            assertThat(seen.state()).isEqualTo(State.HELD);
            assertThat(seen.untilFree()).isNull();
            database.execute("update lock_node set expires_at = started_at where id = '" + seen.nodeId() + "'");
            await().atMost(LONG).until(() -> row.readOrCreate().state() != State.HELD);
            row.endNode(requireNonNull(seen.nodeId()));
            assertThat(granted(row, "me")).isGreaterThan(handle.fencingToken());
        }
    }

    @Test
    void aLockWhoseNodeWasChangedByHandIsHeldUntilALeaseIsOver() throws Exception {
        LiquibaseLockRow row = row("by hand", LONG);
        try (RealService other = RealService.on(database)) {
            var unused = other.locks().acquire(LockRequest.of("by hand"));
            String node = requireNonNull(row.readOrCreate().nodeId());
            for (String change : List.of("update lock_node set ended = true", "delete from lock_node")) {
                database.execute(change + " where id = '" + node + "'");
                assertThat(row.readOrCreate().state()).as(change).isEqualTo(State.HELD);
            }
            database.execute("update distributed_lock set expires_at = acquired_at where name = 'by hand'");
            await().atMost(LONG).until(() -> row.readOrCreate().state() == State.FREE);
        }
    }

    @Test
    void aNodeThatIsAliveIsNotEnded() throws Exception {
        try (LockHandle handle = real.locks().acquire(LockRequest.of("alive"))) {
            LiquibaseLockRow row = row("alive", LONG);
            row.endNode(requireNonNull(row.readOrCreate().nodeId()));
            assertThat(row.readOrCreate().state()).isEqualTo(State.HELD);
            assertThat(handle.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void sharedLocksAndSemaphoresAreNotTaken() throws Exception {
        try (LockHandle shared = real.locks().acquire(LockRequest.of("shared").shared());
                LockHandle permit = real.locks()
                        .semaphore(SemaphoreRequest.of("semaphore").limit(2))
                        .acquire()) {
            assertThat(row("shared", LONG).readOrCreate().state()).isEqualTo(State.HELD);
            assertThat(row("semaphore", LONG).readOrCreate().state()).isEqualTo(State.HELD);
            assertThat(shared.state()).isEqualTo(permit.state());
        }
    }

    @Test
    void aForcedReleaseLeavesWhatThatOfAServiceLeaves() throws Exception {
        Duration lease = ofSeconds(12);
        LockRequest ofThis = LockRequest.of("forced:ours").lease(lease);
        LockRequest ofReal = LockRequest.of("forced:real").lease(lease);
        LockHandle handle = real.locks().acquire(ofThis);
        LockHandle other = real.locks().acquire(ofReal);
        LiquibaseLockRow row = row("forced:ours", lease);
        assertThat(row.takeFromHolder(row.readOrCreate(), "an operator", "a reason"))
                .isTrue();
        assertThat(real.locks().admin().forceRelease("forced:real", "a reason")).isPresent();

        assertThat(lock("forced:ours")).isEqualTo(lock("forced:real")).containsEntry("available_at", "there");
        assertThat(audit("forced:ours")).isEqualTo(audit("forced:real")).containsEntry("action", "FORCED_RELEASE");
        assertThat(row.readOrCreate().state()).isEqualTo(State.NOT_YET);
        assertThat(requireNonNull(row.readOrCreate().untilFree())).isBetween(ofMillis(1), lease.plusMillis(100));
        assertThat(real.locks().tryAcquire(ofThis)).isEmpty();
        assertThat(handle.release()).isEqualTo(other.release());
        await().atMost(LONG).until(() -> row.readOrCreate().state() == State.FREE);
        assertThat(granted(row, "me")).isGreaterThan(handle.fencingToken() + 1);
        assertThat(lock("forced:ours")).containsEntry("available_at", "null");
    }

    @Test
    void aForcedReleaseByAServiceIsNoticed() throws Exception {
        LiquibaseLockRow row = row("taken", LONG);
        long token = granted(row, "me");
        assertThat(real.locks().admin().forceRelease("taken", "a reason")).isPresent();
        assertThat(row.extend("me", token)).isFalse();
        assertThat(row.release("me", token)).isFalse();
        assertThat(row.readOrCreate().state()).isEqualTo(State.NOT_YET);
    }

    private Map<String, String> lock(String name) throws SQLException {
        return columns("select * from distributed_lock where name = ?", name);
    }

    private Map<String, String> audit(String name) throws SQLException {
        return columns("select * from lock_audit where lock_name = ?", name);
    }

    /** Returns the columns of a row: the version in relation to the token, and of what differs each time whether it is there. */
    private Map<String, String> columns(String sql, String name) throws SQLException {
        Map<String, String> columns = new TreeMap<>();
        try (Connection connection = database.dataSource().getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, name);
            try (ResultSet row = statement.executeQuery()) {
                assertThat(row.next()).as(name).isTrue();
                for (int i = 1; i <= row.getMetaData().getColumnCount(); i++) {
                    String column = row.getMetaData().getColumnName(i).toLowerCase(Locale.ROOT);
                    Optional<Object> value = Optional.ofNullable(row.getObject(i));
                    columns.put(
                            column,
                            value.map(present -> ONLY_WHETHER_IT_IS_THERE.contains(column) ? "there" : present + "")
                                    .orElse("null"));
                }
            }
        }
        String token = requireNonNull(columns.remove("fencing_token"));
        columns.computeIfPresent("version", (key, version) -> Long.parseLong(version) - Long.parseLong(token) + "");
        return columns;
    }

    private Duration left(String name) {
        return requireNonNull(real.locks().find(name).orElseThrow().expiresIn());
    }
}

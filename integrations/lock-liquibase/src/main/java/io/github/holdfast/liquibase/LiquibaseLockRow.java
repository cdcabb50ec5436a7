package io.github.holdfast.liquibase;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.ReadableDuration;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The row of a lock, over plain JDBC. Liquibase runs before there is a persistence unit, so these statements are written by hand. They do
 * what the statements of {@code lock-repository} do, and follow the same rules; tests compare both.
 *
 * <p>Each statement commits by itself, on a connection of its own. Thread-safe.
 */
final class LiquibaseLockRow {

    private static final Logger LOG = LoggerFactory.getLogger(LiquibaseLockRow.class);

    private static final String READ = """
            select l.owner, l.node_id, l.holder, l.fencing_token, l.version,
                {micros l.acquired_at} as acquired_at,
                case when l.node_id is null then {micros l.expires_at} - {micros {now}} end as until_expiry,
                {micros l.available_at} - {micros {now}} as until_available,
                case when l.hold_count < 0 then 'HELD'
                    when l.owner is null or (n.id is null and l.expires_at <= {plus {now}})
                            or (n.id is null and l.node_id is not null and l.expires_at is null)
                            or (n.ended = true and (n.waits_until = n.started_at or n.expires_at <= {plus {now}}))
                        then case when l.available_at is null or l.available_at <= {now} then 'FREE' else 'NOT_YET' end
                    when n.expires_at <= {plus {now}} then 'NODE_OVER'
                    else 'HELD' end as state
            from distributed_lock l left join lock_node n on n.id = l.node_id
            where l.name = ?
            """;

    private static final String CREATE = """
            insert into distributed_lock (name, hold_count, fencing_token, expires_at, version)
            values (?, 0, {micros {begin}}, {now}, {micros {begin}})
            """;

    private static final String GRANT = """
            update distributed_lock
            set owner = ?, node_id = null, holder = ?, hold_count = 1, fencing_token = ?, acquired_at = {now},
                expires_at = {plus {now}}, available_at = null, version = version + 1
            where name = ? and version = ? and fencing_token = ? and (available_at is null or available_at <= {now})
            """;

    private static final String EXTEND = """
            update distributed_lock
            set expires_at = case when expires_at > {plus {now}} then expires_at else {plus {now}} end, version = version + 1
            where name = ? and owner = ? and fencing_token = ? and expires_at > {now}
            """;

    private static final String RELEASE = """
            update distributed_lock
            set owner = null, node_id = null, holder = null, hold_count = 0, expires_at = {now}, version = version + 1
            where name = ? and owner = ? and fencing_token = ?
            """;

    private static final String END_NODE = """
            update lock_node set ended = true, version = version + 1
            where id = ? and ended = false and expires_at <= {plus {now}}
            """;

    /** MySQL sets the columns in this order, and a later one sees the new value of an earlier one. */
    private static final String TAKE_FROM_HOLDER = """
            update distributed_lock
            set available_at = case when available_at > {plus expires_at} then available_at else {plus expires_at} end,
                owner = null, node_id = null, holder = null, hold_count = 0, fencing_token = fencing_token + 1,
                expires_at = {now}, version = version + 1
            where name = ? and version = ? and fencing_token = ?
            """;

    private static final String RECORD = """
            insert into lock_audit (id, action, lock_name, owner, node_id, holder, fencing_token, permits, done_at, done_by, reason)
            values (?, 'FORCED_RELEASE', ?, ?, null, ?, ?, null, {now}, ?, ?)
            """;

    private final ShortStatements statements;
    private final LockSchema schema;
    private final String name;
    private final Duration lease;
    private final long leaseMicros;
    private final long sinceMicros;

    LiquibaseLockRow(DataSource dataSource, String name, Duration lease, Duration clockTolerance) {
        this.statements = new ShortStatements(dataSource);
        this.schema = LockSchema.on(dataSource);
        this.name = name;
        this.lease = lease;
        this.leaseMicros = lease.toNanos() / 1000;
        this.sinceMicros = -clockTolerance.toNanos() / 1000;
    }

    /** What a row says about its lock, at an instant of the database's clock. */
    enum State {
        /** It can be granted. */
        FREE,
        /** It is free, but not available yet, because of a forced release or a minimum hold. */
        NOT_YET,
        /** Its node has not been ended, but its lease has expired. The node must be ended first. */
        NODE_OVER,
        /** An owner holds it. */
        HELD
    }

    /**
     * A row, as it was read.
     *
     * @param untilFree how long it will be held or unavailable, if no process writes it; null if that is unknown
     */
    record Seen(
            State state,
            @Nullable String owner,
            @Nullable String nodeId,
            @Nullable String holder,
            long token,
            long version,
            @Nullable Instant acquiredAt,
            @Nullable Duration untilFree) {

        /** Describes the holder for people. */
        String description() {
            return holder == null ? "an unknown holder" : "'" + holder + "'";
        }

        /** Returns why the lock was not granted, for people. */
        String reason() {
            return switch (state) {
                case FREE -> "another process was faster";
                case NOT_YET ->
                    "it stays unavailable for another " + ReadableDuration.about(Objects.requireNonNull(untilFree));
                case NODE_OVER, HELD ->
                    "it is held by " + description() + (acquiredAt == null ? "" : " since " + acquiredAt);
            };
        }
    }

    String name() {
        return name;
    }

    Duration lease() {
        return lease;
    }

    /**
     * Reads the row. One statement. If the row or its table is missing, creates it: any number of processes may do this at the same time.
     *
     * @throws IllegalStateException if the table is missing and cannot be created; the message says what to do
     */
    Seen readOrCreate() throws SQLException {
        Optional<Seen> seen = readOrCreateTable();
        if (seen.isEmpty()) {
            create();
            seen = read();
        }
        return seen.orElseThrow(() -> new SQLException("The row of the lock '" + name + "' was deleted"));
    }

    private Optional<Seen> readOrCreateTable() throws SQLException {
        try {
            return read();
        } catch (SQLTransientConnectionException noConnection) {
            throw noConnection;
        } catch (SQLException failed) {
            LOG.debug("The row of lock '{}' could not be read; perhaps its table is missing", name, failed);
            List<String> unused = schema.createIfMissing();
            return read();
        }
    }

    private Optional<Seen> read() throws SQLException {
        return statements.query(READ, LiquibaseLockRow::seen, sinceMicros, sinceMicros, sinceMicros, name);
    }

    /** Creates the row of a free lock. Does nothing if there is one. */
    private void create() throws SQLException {
        try {
            int unused = statements.update(CREATE, name);
        } catch (SQLException failed) {
            if (!isDuplicate(failed)) {
                throw failed;
            }
        }
    }

    private static boolean isDuplicate(SQLException failed) {
        return failed.getSQLState() != null && failed.getSQLState().startsWith("23");
    }

    /** Grants the lock, if its row is still as it was read. One statement. */
    boolean grant(Seen seen, String owner, String holder) throws SQLException {
        try {
            return statements.update(
                            GRANT, owner, holder, seen.token() + 1, leaseMicros, name, seen.version(), seen.token())
                    == 1;
        } catch (SQLException failed) {
            if (isConflict(failed)) {
                return false;
            }
            throw failed;
        }
    }

    /** Whether the table does not exist: 42P01 on PostgreSQL, 42S02 on the others. */
    static boolean isTableMissing(SQLException failed) {
        return "42P01".equals(failed.getSQLState()) || "42S02".equals(failed.getSQLState());
    }

    /** Whether another transaction was faster, at an isolation level that reports this as an error. */
    private static boolean isConflict(SQLException failed) {
        return failed.getSQLState() != null && failed.getSQLState().startsWith("40");
    }

    /** Lets the lease begin again, if it is not over. One statement. */
    boolean extend(String owner, long token) throws SQLException {
        return statements.update(EXTEND, leaseMicros, leaseMicros, name, owner, token) == 1;
    }

    /** Releases the lock, if this grant still has it. One statement. */
    boolean release(String owner, long token) throws SQLException {
        return statements.update(RELEASE, name, owner, token) == 1;
    }

    /** Ends a node whose lease has expired. One statement. */
    void endNode(String nodeId) throws SQLException {
        int unused = statements.update(END_NODE, nodeId, sinceMicros);
    }

    /**
     * Takes the lock from its holder, and records that. The next grant waits until the end of the previous holder's lease. Two
     * statements, in one transaction.
     *
     * @param seen the row of a lock that is held by a lease
     * @return false if the row has changed since
     */
    boolean takeFromHolder(Seen seen, String doneBy, String reason) throws SQLException {
        long tolerance = -sinceMicros;
        return statements.inTransaction(connection -> {
            int taken = ShortStatements.update(
                    connection, TAKE_FROM_HOLDER, tolerance, tolerance, name, seen.version(), seen.token());
            if (taken == 1) {
                String id = UUID.randomUUID().toString();
                int unused = ShortStatements.update(
                        connection, RECORD, id, name, seen.owner(), seen.holder(), seen.token(), doneBy, reason);
            }
            return taken == 1;
        });
    }

    private static Seen seen(ResultSet row) throws SQLException {
        State state = State.valueOf(row.getString("state"));
        Long untilExpiry = micros(row, "until_expiry");
        Long untilAvailable = micros(row, "until_available");
        Long acquiredAt = micros(row, "acquired_at");
        Duration available = untilAvailable == null ? Duration.ZERO : ofMicros(Math.max(0, untilAvailable));
        Duration untilFree = switch (state) {
            case FREE, NOT_YET, NODE_OVER -> available;
            case HELD -> untilExpiry == null ? null : available.plus(ofMicros(Math.max(0, untilExpiry)));
        };
        return new Seen(
                state,
                row.getString("owner"),
                row.getString("node_id"),
                row.getString("holder"),
                row.getLong("fencing_token"),
                row.getLong("version"),
                acquiredAt == null ? null : Instant.EPOCH.plus(acquiredAt, ChronoUnit.MICROS),
                untilFree);
    }

    private static @Nullable Long micros(ResultSet row, String column) throws SQLException {
        long micros = row.getLong(column);
        return row.wasNull() ? null : micros;
    }

    private static Duration ofMicros(long micros) {
        return Duration.of(micros, ChronoUnit.MICROS);
    }
}

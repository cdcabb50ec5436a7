package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.repository.rows.HolderRows.LimitChange;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The audit log of {@link InMemoryDatabase}. */
final class InMemoryAudits {

    private final InMemoryDatabase database;

    InMemoryAudits(InMemoryDatabase database) {
        this.database = database;
    }

    void recordForced(
            String name,
            @Nullable String owner,
            @Nullable String nodeId,
            @Nullable String holder,
            long token,
            @Nullable Integer permits,
            String doneBy,
            String reason) {
        insert(Row.of(LockAudit.class)
                .with("id", UUID.randomUUID().toString())
                .with("action", LockAudit.FORCED_RELEASE)
                .with("lockName", name)
                .with("owner", owner)
                .with("nodeId", nodeId)
                .with("holder", holder)
                .with("fencingToken", token)
                .with("permits", permits)
                .with("doneBy", doneBy)
                .with("reason", reason));
    }

    void record(LimitChange change, long lastToken) {
        insert(Row.of(LockAudit.class)
                .with("id", change.id())
                .with("action", LockAudit.LIMIT_CHANGE)
                .with("lockName", change.name())
                .with("fencingToken", lastToken)
                .with("permits", change.limit())
                .with("doneBy", change.doneBy())
                .with("reason", change.reason()));
    }

    private void insert(Row<LockAudit> row) {
        boolean unused = database.write("audit", now -> {
            database.audits.put(row.with("doneAt", now).made());
            return true;
        });
    }

    boolean isRecorded(String id) {
        return database.read(now -> database.audits.find(RowKey.of(id)).isPresent());
    }

    boolean wasForced(String name, long token) {
        return database.read(now -> database.audits
                .where(row -> row.lockName().equals(name)
                        && row.fencingToken() == token
                        && row.action().equals(LockAudit.FORCED_RELEASE))
                .findAny()
                .isPresent());
    }
}

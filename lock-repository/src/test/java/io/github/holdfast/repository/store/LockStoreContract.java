package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The transactions of a store: all or nothing, and each by itself. */
abstract class LockStoreContract extends StoreContract {

    static final Duration LEASE = Duration.ofSeconds(30);

    final boolean grant(LockEntity row) {
        return application.call(locks -> locks.grant(row, row.granted("me", null, null), LEASE, null));
    }

    final long versionOf(String name) {
        return application.read(name).row().version();
    }

    @Test
    void transactionsOfTheStoreCanBeNested() {
        LockEntity row = application.create("job");
        LockEntity other = application.create("other");
        assertThatIllegalStateException()
                .isThrownBy(() -> application.call(locks -> {
                    locks.supersede("job", row.version());
                    assertThat(application.<Boolean>call(inner -> inner.supersede("other", other.version())))
                            .isTrue();
                    throw new IllegalStateException("rolls back");
                }));

        assertThat(versionOf("job")).isEqualTo(row.version());
        assertThat(versionOf("other")).isEqualTo(other.version() + 1);
    }

    @Test
    void ofATransactionThatThrowsNothingIsLeft() {
        LockEntity row = application.create("job");
        assertThatIllegalStateException()
                .isThrownBy(() -> application.call(locks -> {
                    assertThat(grantedAndSuperseded(locks, row)).isTrue();
                    application.store().nodes().register("node", LEASE, null);
                    locks.recordForcedRelease(row.granted("me", null, null), "operator", "stuck");
                    throw new IllegalStateException("rolls back");
                }));

        assertThat(application.read("job").row()).usingRecursiveComparison().isEqualTo(row);
        assertThat(application.tables().count("HoldfastNode")).isZero();
        assertThat(application.tables().count("HoldfastAudit")).isZero();
    }

    private static boolean grantedAndSuperseded(TransactionalLockRows locks, LockEntity row) {
        LockEntity held = row.granted("me", null, null);
        return locks.grant(row, held, LEASE, null) && locks.supersede("job", held.version());
    }

    @Test
    void aCallInAutocommitModeIsATransactionByItself() {
        LockEntity row = application.create("job");
        LockRows autocommit = application.store().autocommit(LEASE);
        LockEntity held = row.granted("me", null, null);
        assertThat(autocommit.grant(row, held, LEASE, LEASE)).isTrue();
        assertThat(autocommit.grant(row, held, LEASE, null)).isFalse();
        LockEntity left = held.withHoldCount(0);
        assertThat(autocommit.release(held, left)).isTrue();
        assertThat(autocommit.grant(left, left.granted("other", null, null), LEASE, null))
                .as("before the minimum hold is over")
                .isFalse();
        assertThat(autocommit.createIfMissing("other")).isPresent();
        assertThat(autocommit.supersede("other", versionOf("other"))).isTrue();
    }
}

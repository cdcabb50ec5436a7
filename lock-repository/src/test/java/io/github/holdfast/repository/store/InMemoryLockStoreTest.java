package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.memory.InMemoryFaults.Unanswered;
import io.github.holdfast.repository.memory.InMemoryLockStore;
import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link LockStoreContract} on the double, and what a test makes go wrong there. */
class InMemoryLockStoreTest extends LockStoreContract {

    private final InMemoryLockStore store;

    InMemoryLockStoreTest() {
        InMemoryStoreUnderTest inMemory = new InMemoryStoreUnderTest();
        application = inMemory;
        store = inMemory.store();
    }

    private static void assertFails(Failure failure, Supplier<?> call) {
        assertThatExceptionOfType(StoreException.class)
                .isThrownBy(call::get)
                .satisfies(thrown -> assertThat(thrown.failure()).isEqualTo(failure));
    }

    @Test
    void withoutAConnectionNothingHappens() {
        LockEntity row = application.create("job");
        store.faults().refuseConnections(true);
        assertFails(Failure.UNAVAILABLE, () -> grant(row));
        assertFails(Failure.UNAVAILABLE, () -> store.autocommit(LEASE).read("job"));
        store.faults().refuseConnections(false);
        assertThat(grant(row)).isTrue();
    }

    @Test
    void aRefusedWriteHasNoEffectAndTheNextOneHas() {
        LockEntity row = application.create("job");
        store.faults().refuse("grant", Failure.CONFLICT);
        assertThat(versionOf("job")).as("a read meets no fault").isEqualTo(row.version());
        assertFails(Failure.CONFLICT, () -> grant(row));
        assertThat(store.faults().haveAllOccurred()).isTrue();
        assertThat(grant(row)).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void aWriteWithoutAnAnswerHasHappenedOrNot(Unanswered effect) {
        LockEntity row = application.create("job");
        store.faults().leaveUnanswered("grant", effect);
        assertFails(Failure.UNKNOWN, () -> grant(row));
        assertThat(application.read("job").row().owner()).isEqualTo(effect == Unanswered.HAPPENED ? "me" : null);
        store.faults().arrive();
        assertThat(application.read("job").row().owner()).isEqualTo(effect == Unanswered.LOST ? null : "me");
    }

    @Test
    void aLateWriteMissesARowThatHasChangedMeanwhile() {
        LockEntity row = application.create("job");
        store.faults().leaveUnanswered("grant", Unanswered.LATE);
        assertFails(Failure.UNKNOWN, () -> grant(row));
        assertThat(application.<Boolean>call(locks -> locks.supersede("job", row.version())))
                .isTrue();
        store.faults().arrive();
        assertThat(application.read("job").row().owner()).isNull();
    }

    @Test
    void aCallOutsideATransactionIsAnError() {
        assertThatIllegalStateException().isThrownBy(() -> store.nodes().read("node"));
    }

    @Test
    void whatOnlyADatabasePromisesIsNotThere() {
        assertThat(store.hasRowLocks()).isFalse();
        assertThat(store.wakeUpChannel(Runnable::run)).isEmpty();
        assertThatThrownBy(store::beginRowTransaction).isInstanceOf(UnsupportedOperationException.class);
    }
}

package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.entity.LockRun.Status;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.memory.Row;
import io.github.holdfast.repository.store.StoreContract;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** What can be done with the rows of the runs of tasks. */
abstract class LockRunRepositoryContract extends StoreContract {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final long HOUR = Duration.ofHours(1).toMillis() * 1000;
    private static final long A_WEEK_AGO = -7 * 24 * HOUR;
    private static final long A_YEAR_AGO = -366 * 24 * HOUR;
    private static final long GRACE = -1000;

    private <T> T call(Function<LockRunRepository, T> work) {
        return application.call(locks -> work.apply(application.store().runs()));
    }

    private List<LockRun> list(Function<LockRunRepository, List<LockRun>> work) {
        return call(work);
    }

    private Optional<LockRun> find(Function<LockRunRepository, Optional<LockRun>> work) {
        return call(work);
    }

    /** Grants the lock of a task once more, and records that a run begins. */
    private LockEntity begin(String name) {
        LockEntity granted = application.grant(name, "owner", LEASE);
        beginAs(granted);
        return granted;
    }

    /** Begins a run whose lock is held through a node. */
    private LockEntity beginThrough(String node, String name) {
        application.register(node, LEASE);
        LockEntity before = application.create(name);
        boolean isGranted =
                application.call(locks -> locks.grant(before, before.granted("owner", node, null), null, null));
        assertThat(isGranted).isTrue();
        LockEntity granted = application.read(name).row();
        beginAs(granted);
        return granted;
    }

    private void beginAs(LockEntity granted) {
        Instant now = application.clock();
        call(runs -> {
            runs.begin(granted, 7L, now);
            return true;
        });
    }

    private boolean end(LockEntity granted, Status status) {
        return call(runs -> runs.end(Grant.of(granted), status, status == Status.FAILED ? "It failed" : null));
    }

    private boolean lose(LockEntity granted) {
        return call(runs -> runs.lose(granted.name(), granted.fencingToken(), "Its process died"));
    }

    private LockRun run(LockEntity granted) {
        return call(runs -> runs.read(granted.name(), granted.fencingToken())).orElseThrow();
    }

    private void release(LockEntity held) {
        boolean isReleased = application.call(locks -> locks.release(held, held.withHoldCount(0)));
        assertThat(isReleased).isTrue();
    }

    private List<String> abandoned() {
        return call(runs -> runs.abandoned("", 0, GRACE, 10)).stream()
                .map(LockRun::name)
                .toList();
    }

    /** As it will be when some days have passed. */
    private void age(LockEntity granted, String time, int days) {
        Instant now = (Instant) Objects.requireNonNull(Row.get(run(granted), time));
        application
                .tables()
                .update(
                        "HoldfastRun",
                        Map.of(time, now.minus(Duration.ofDays(days))),
                        Map.of("name", granted.name(), "fencingToken", granted.fencingToken()));
    }

    private List<Long> old(LockEntity... of) {
        List<Long> tokens = call(runs -> runs.old(A_WEEK_AGO, A_YEAR_AGO, "", 0, 10)).stream()
                .map(LockRun::fencingToken)
                .toList();
        assertThat(tokens).hasSize(of.length);
        return tokens;
    }

    @Test
    void aRunBeginsWithItsGrant() {
        LockEntity granted = begin("job");
        LockRun run = call(runs -> runs.last("job")).orElseThrow();
        assertThat(run.fencingToken()).isEqualTo(granted.fencingToken());
        assertThat(run.period()).isEqualTo(7);
        assertThat(run.holder()).isEqualTo(granted.holder());
        assertThat(run.status()).isEqualTo(Status.RUNNING);
        assertThat(run.begunAt()).isBeforeOrEqualTo(application.clock());
        assertThat(run.endedAt()).isNull();
        assertThat(find(runs -> runs.last("other"))).isEmpty();
    }

    @Test
    void aRunEndsOnceWhileItsGrantStands() {
        LockEntity granted = begin("job");
        assertThat(end(granted, Status.FAILED)).isTrue();
        assertThat(run(granted).status()).isEqualTo(Status.FAILED);
        assertThat(run(granted).error()).isEqualTo("It failed");
        assertThat(run(granted).endedAt()).isNotNull();
        assertThat(end(granted, Status.SUCCEEDED)).isFalse();
        assertThat(lose(granted)).isFalse();
        assertThat(run(granted).status()).isEqualTo(Status.FAILED);
    }

    @Test
    void aRunWhoseGrantHasEndedCanOnlyBeLost() {
        LockEntity released = begin("job");
        release(released);
        assertThat(end(released, Status.SUCCEEDED)).isFalse();
        LockEntity next = begin("job");
        assertThat(end(released, Status.SUCCEEDED)).isFalse();
        assertThat(lose(released)).isTrue();
        assertThat(run(released).status()).isEqualTo(Status.LOST);
        assertThat(run(released).error()).isEqualTo("Its process died");
        assertThat(run(next).status()).isEqualTo(Status.RUNNING);
    }

    @Test
    void runsAreReadLatestFirst() {
        List<Long> tokens = List.of(
                begin("job").fencingToken(),
                begin("job").fencingToken(),
                begin("job").fencingToken());
        begin("other");
        assertThat(list(runs -> runs.page("job", Long.MAX_VALUE, 2)).stream().map(LockRun::fencingToken))
                .containsExactly(tokens.get(2), tokens.get(1));
        assertThat(list(runs -> runs.page("job", tokens.get(1), 2)).stream().map(LockRun::fencingToken))
                .containsExactly(tokens.get(0));
        assertThat(find(runs -> runs.last("job")).orElseThrow().fencingToken()).isEqualTo(tokens.get(2));
    }

    @Test
    void theLastRunOfEachTaskIsReadInTheOrderOfNames() {
        begin("b");
        long last = begin("b").fencingToken();
        begin("a");
        begin("c");
        assertThat(list(runs -> runs.lastOfEach("", 2)).stream().map(LockRun::name))
                .containsExactly("a", "b");
        assertThat(list(runs -> runs.lastOfEach("a", 1)).get(0).fencingToken()).isEqualTo(last);
        assertThat(list(runs -> runs.lastOfEach("c", 1))).isEmpty();
    }

    @Test
    void aRunIsAbandonedOnceItsGrantIsReleasedOrItsNodeEnded() {
        LockEntity released = begin("released");
        release(released);
        begin("leased");
        beginThrough("alive", "kept");
        beginThrough("stopped", "left");
        end(begin("finished"), Status.SUCCEEDED);
        int stopped = application.call(locks -> application.store().nodes().stop("stopped", 0, 0));
        assertThat(stopped).isEqualTo(1);
        assertThat(abandoned()).containsExactly("left", "released");
        assertThat(list(runs -> runs.abandoned("left", Long.MAX_VALUE, GRACE, 10)))
                .singleElement()
                .satisfies(run -> assertThat(run.name()).isEqualTo("released"));
    }

    @Test
    void oldRunsAreThoseThatNoPeriodNeeds() {
        LockEntity first = begin("job");
        end(first, Status.SUCCEEDED);
        LockEntity last = begin("job");
        end(last, Status.SUCCEEDED);
        age(first, "endedAt", 8);
        age(last, "endedAt", 8);
        assertThat(old(first)).containsExactly(first.fencingToken());
        age(last, "begunAt", 367);
        assertThat(old(first, last)).containsExactly(first.fencingToken(), last.fencingToken());
        int purged = call(runs -> runs.purge("job", List.of(first.fencingToken())));
        assertThat(purged).isEqualTo(1);
        assertThat(find(runs -> runs.read("job", first.fencingToken()))).isEmpty();
        assertThat(old(last)).containsExactly(last.fencingToken());
    }
}

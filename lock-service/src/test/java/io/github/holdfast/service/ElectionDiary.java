package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** Callbacks that note what they are told, on which thread, and do what a test wants. */
final class ElectionDiary implements LeaderCallbacks {

    /** One call. The cause is null for a grant. */
    record Entry(long term, @Nullable RevocationCause cause, Thread thread, boolean isOver) {

        boolean isGrant() {
            return cause == null;
        }
    }

    /** What a leader does. */
    interface Work {
        void of(Leadership leadership) throws Exception;
    }

    private final List<Entry> entries = new CopyOnWriteArrayList<>();
    private final Work work;
    private final Work end;

    ElectionDiary() {
        this(leadership -> {});
    }

    ElectionDiary(Work work) {
        this(work, leadership -> {});
    }

    ElectionDiary(Work work, Work end) {
        this.work = work;
        this.end = end;
    }

    @Override
    public void onGranted(Leadership leadership) throws Exception {
        entries.add(new Entry(leadership.term(), null, Thread.currentThread(), leadership.isOver()));
        work.of(leadership);
    }

    @Override
    public void onRevoked(Leadership leadership, RevocationCause cause) {
        entries.add(new Entry(leadership.term(), cause, Thread.currentThread(), leadership.isOver()));
        try {
            end.of(leadership);
        } catch (Exception thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    List<Entry> entries() {
        return List.copyOf(entries);
    }

    List<@Nullable RevocationCause> causes() {
        return entries().stream()
                .filter(entry -> !entry.isGrant())
                .map(Entry::cause)
                .toList();
    }

    /** Waits for this many calls. */
    void awaitCalls(int calls) {
        await().pollInterval(ofMillis(5))
                .atMost(ofSeconds(30))
                .untilAsserted(() -> assertThat(entries).hasSizeGreaterThanOrEqualTo(calls));
        assertAlternating();
    }

    /** Each grant has a greater term than the one before, and is revoked once before the next. */
    void assertAlternating() {
        List<Entry> seen = entries();
        for (int i = 0; i < seen.size(); i++) {
            Entry entry = seen.get(i);
            assertThat(entry.isGrant()).as(seen.toString()).isEqualTo(i % 2 == 0);
            assertThat(entry.isOver()).as(seen.toString()).isEqualTo(!entry.isGrant());
            if (!entry.isGrant()) {
                assertThat(entry.term()).isEqualTo(seen.get(i - 1).term());
            } else if (i > 0) {
                assertThat(entry.term()).isGreaterThan(seen.get(i - 1).term());
            }
        }
    }
}

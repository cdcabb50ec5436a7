package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The handles of the members that have granted a hold. Not thread-safe: the hold guards it. */
final class Grants {

    private static final Set<LockState> ALIVE = EnumSet.of(LockState.HELD, LockState.SUSPECT);

    private final Quorum quorum;

    /** By the index of the member. */
    private final Map<Integer, LockHandle> handles = new TreeMap<>();

    Grants(Quorum quorum) {
        this.quorum = quorum;
    }

    static boolean isAlive(LockState state) {
        return ALIVE.contains(state);
    }

    /** Adds the grant of a member, and returns the previous one; null if there is none. */
    @Nullable
    LockHandle put(Member member, LockHandle handle) {
        return handles.put(member.index(), handle);
    }

    /** Returns whether this is true for the handles of a majority. */
    boolean areAtMajority(Predicate<LockHandle> condition) {
        return handles.values().stream().filter(condition).count() >= quorum.majority();
    }

    /** Returns the state of a majority. */
    LockState state() {
        List<LockState> states =
                handles.values().stream().map(LockHandle::state).toList();
        if (states.stream().filter(Grants::isAlive).count() < quorum.majority()) {
            return LockState.LOST;
        }
        return states.stream().filter(LockState.HELD::equals).count() >= quorum.majority()
                ? LockState.HELD
                : LockState.SUSPECT;
    }

    /** Returns why a member has lost its grant, without a statement. The first handle that is lost decides. */
    LossCause lossCause() {
        for (LockHandle handle : handles.values()) {
            try {
                if (handle.state() == LockState.LOST) {
                    handle.ensureValidFor(Duration.ZERO);
                }
            } catch (LockLostException lost) {
                return lost.lossCause();
            }
        }
        return LossCause.EXPIRED;
    }

    /** Returns how long a majority is held: as long as the least of the longest. */
    Duration remaining() {
        return handles.values().stream()
                .map(LockHandle::remaining)
                .sorted(Comparator.reverseOrder())
                .skip(quorum.majority() - 1L)
                .findFirst()
                .orElse(Duration.ZERO);
    }

    /** Returns the token of the members that are held now. */
    QuorumToken token() {
        long[] tokens = new long[quorum.members().size()];
        handles.forEach((member, handle) -> {
            if (isAlive(handle.state())) {
                tokens[member] = handle.fencingToken();
            }
        });
        return QuorumToken.of(tokens);
    }

    /** Returns whether this member has granted nothing, or has lost its grant. */
    boolean isMissing(Member member) {
        LockHandle handle = handles.get(member.index());
        return handle == null || !isAlive(handle.state());
    }

    /** Returns the handles by the index of the member. */
    Map<Integer, LockHandle> handles() {
        return new TreeMap<>(handles);
    }

    /** Releases all handles on other threads, and forgets them. */
    <T> List<CompletableFuture<T>> release(String asker, Function<LockHandle, T> release) {
        List<CompletableFuture<T>> releases = quorum.tellEach(handles, asker, release);
        handles.clear();
        return releases;
    }
}

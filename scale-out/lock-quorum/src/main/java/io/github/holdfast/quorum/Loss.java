package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LossCause;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The loss of a hold: its cause, and the handlers and the thread to notify. It happens once at most. Thread-safe. */
final class Loss {

    private final String lockName;
    private final String owner;
    private final Quorum quorum;
    private final List<Consumer<LockLost>> handlers = new ArrayList<>();
    private LossCause cause = LossCause.EXPIRED;
    private @Nullable Thread interrupted;
    private @Nullable LockLost told;
    private boolean isReleased;

    Loss(String lockName, String owner, Quorum quorum) {
        this.lockName = lockName;
        this.owner = owner;
        this.quorum = quorum;
    }

    /** Remembers the cause that members have reported at the release. */
    synchronized void because(LossCause ofMember) {
        if (told == null) {
            cause = ofMember;
        }
    }

    /** Calls the handlers, and interrupts the thread. */
    synchronized void tell(LossCause why) {
        cause = why;
        LockLost lost = new LockLost(lockName, owner, 0, why);
        told = lost;
        handlers.forEach(handler -> quorum.later(() -> handler.accept(lost)));
        if (interrupted != null) {
            interrupted.interrupt();
        }
    }

    /** Calls the handler when the hold is lost, or now if it already is. */
    synchronized void on(Consumer<LockLost> handler) {
        LockLost lost = told;
        if (lost == null) {
            handlers.add(handler);
        } else if (!isReleased) {
            quorum.later(() -> handler.accept(lost));
        }
    }

    /** Interrupts the thread when the hold is lost, or now if it already is. */
    synchronized void interrupt(Thread thread) {
        interrupted = thread;
        if (told != null) {
            thread.interrupt();
        }
    }

    /** Interrupts no thread from now on. */
    synchronized void spare() {
        interrupted = null;
    }

    /** Notifies no handler and no thread from now on, because the hold is given back. */
    synchronized void forget() {
        isReleased = true;
        interrupted = null;
        handlers.clear();
    }

    synchronized LockLostException exception() {
        return new LockLostException(
                lockName, cause, "a majority of the members no longer holds it; at one of them, " + cause.why());
    }
}

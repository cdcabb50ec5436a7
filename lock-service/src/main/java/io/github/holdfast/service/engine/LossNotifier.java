package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.Grant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Records the loss of a hold, and notifies handlers and listeners of it. A loss happens once, and is final. Thread-safe. */
final class LossNotifier {

    private final Grant grant;
    private final ListenerDispatcher listeners;
    private final List<Consumer<LockLost>> handlers = new ArrayList<>();
    private @Nullable Thread interrupted;
    private boolean isSuspect;
    private volatile @Nullable LockLost told;

    LossNotifier(Grant grant, ListenerDispatcher listeners) {
        this.grant = grant;
        this.listeners = listeners;
    }

    boolean isKnown() {
        return told != null;
    }

    /** The exception to throw. If nothing was lost, it says that the hold was released. */
    LockLostException exception() {
        LockLost lost = told;
        return lost == null
                ? new LockLostException(grant.name(), LossCause.EXPIRED, "it was released")
                : new LockLostException(grant.name(), lost.cause(), lost.cause().why());
    }

    /** Calls the handler when the hold is lost, or now if it already is. */
    synchronized void on(Consumer<LockLost> handler) {
        LockLost lost = told;
        if (lost == null) {
            handlers.add(handler);
        } else {
            listeners.dispatchLater(lost, handler);
        }
    }

    /** Interrupts the thread if the hold is lost before {@link #spare}, or now if it already is. */
    synchronized void interrupt(Thread thread) {
        interrupted = thread;
        if (told != null) {
            thread.interrupt();
        }
    }

    /** Interrupts no thread from now on: the last handle is being released. */
    synchronized void spare() {
        interrupted = null;
    }

    /** Reports an overdue renewal, once each time that it becomes overdue. */
    void suspect(boolean isOverdue) {
        boolean isNews;
        synchronized (this) {
            isNews = isOverdue && !isSuspect;
            isSuspect = isOverdue;
        }
        if (isNews) {
            listeners.dispatchLater(listener -> listener.suspect(grant.name(), grant.fencingToken()));
        }
    }

    /**
     * Reports that the hold is lost.
     *
     * @return false if the loss was reported before
     */
    boolean tell(LossCause cause) {
        LockLost lost = new LockLost(grant.name(), grant.owner(), grant.fencingToken(), cause);
        synchronized (this) {
            if (told != null) {
                return false;
            }
            told = lost;
            if (interrupted != null) {
                interrupted.interrupt();
            }
            handlers.forEach(handler -> listeners.dispatchLater(lost, handler));
        }
        listeners.dispatchLater(listener -> listener.lost(lost));
        return true;
    }
}

package io.github.holdfast.service;

import io.github.holdfast.repository.Grant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Whether a hold is lost, and who is told so: once, and never taken back. Thread-safe. */
final class Loss {

    private final Grant grant;
    private final Events events;
    private final List<Consumer<LockLost>> handlers = new ArrayList<>();
    private @Nullable Thread interrupted;
    private boolean isSuspect;
    private volatile @Nullable LockLost told;

    Loss(Grant grant, Events events) {
        this.grant = grant;
        this.events = events;
    }

    boolean isKnown() {
        return told != null;
    }

    /** What to throw; after a release if nothing was lost. */
    LockLostException exception() {
        LockLost lost = told;
        return lost == null
                ? new LockLostException(grant.name(), LossCause.EXPIRED, "it was released")
                : new LockLostException(grant.name(), lost.cause(), lost.cause().why());
    }

    /** Calls the handler when the hold is lost, or now if it is already. */
    synchronized void on(Consumer<LockLost> handler) {
        LockLost lost = told;
        if (lost == null) {
            handlers.add(handler);
        } else {
            events.tellLater(lost, handler);
        }
    }

    /** Interrupts the thread if the hold is lost before {@link #spare}, or now if it is already. */
    synchronized void interrupt(Thread thread) {
        interrupted = thread;
        if (told != null) {
            thread.interrupt();
        }
    }

    /** Interrupts nobody from now on: the last handle is being released. */
    synchronized void spare() {
        interrupted = null;
    }

    /** Has it told that the renewal is overdue, each time anew when it was not in between. */
    void suspect(boolean isOverdue) {
        boolean isNews;
        synchronized (this) {
            isNews = isOverdue && !isSuspect;
            isSuspect = isOverdue;
        }
        if (isNews) {
            events.tellLater(listener -> listener.suspect(grant.name(), grant.fencingToken()));
        }
    }

    /**
     * Tells that the hold is lost.
     *
     * @return false if that was told before
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
            handlers.forEach(handler -> events.tellLater(lost, handler));
        }
        events.tellLater(listener -> listener.lost(lost));
        return true;
    }
}

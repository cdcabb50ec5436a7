package io.github.holdfast.repository;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Cancels statements and commits that take too long. Thread-safe. */
public interface StatementWatch {

    /** Watches nothing. */
    StatementWatch NONE = (cancel, atMost) -> null;

    /**
     * A statement or commit is about to be executed.
     *
     * @param cancel cancels it, and returns when that was sent to the server; is called by other threads, one at a time, and again some
     *     seconds later if the statement has not ended
     * @param atMost after which time it is to be cancelled, or a little later
     * @return what is told of its end; null if it is not watched
     */
    @Nullable
    Watched begin(Runnable cancel, Duration atMost);

    /** A statement that is being executed. */
    interface Watched {
        /** It has ended. When this returns, it is not being cancelled, and will not be: that would hit the connection's next one. */
        void end();
    }
}

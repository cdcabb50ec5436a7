package io.github.holdfast.service.engine.tx;

import io.github.holdfast.service.engine.runtime.LogEvent;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns about locks in transactions that may not do what their caller expects. Logs each warning once, or once for each call
 * site. Thread-safe.
 */
final class TransactionWarnings {

    private static final Logger LOG = LoggerFactory.getLogger(TransactionWarnings.class);

    private static final String HERE = TransactionWarnings.class.getPackageName();

    /** The class that every acquisition calls. */
    private static final String ACQUISITION = HERE + ".LockEngine";

    /** The class that every release of a lease calls. */
    private static final String RELEASE = HERE + ".LeaseHandle";

    private static final int MAX_CALL_SITES = 1000;

    private final Set<String> warnedCallSites = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean hasWarnedOfUnfenced = new AtomicBoolean();
    private final AtomicBoolean hasWarnedOfSeveral = new AtomicBoolean();

    /** Warns that the transaction has read before the lock was acquired. */
    void oldSnapshot(String name) {
        oncePerCallSite(ACQUISITION, callSite -> {
            LogEvent.TRANSACTION_OLD_SNAPSHOT
                    .of(name, LOG.atWarn())
                    .log(
                            "Lock '{}' was acquired after its transaction's first read, at REPEATABLE READ or higher:"
                                    + " the transaction still sees the data of that read, and may fail to commit."
                                    + " Acquire the lock before the first read ({})",
                            name,
                            callSite);
        });
    }

    /** Warns that another thread than the acquiring one has released a handle while others of the same hold are open. */
    void releasedElsewhere(String name) {
        oncePerCallSite(
                RELEASE,
                callSite -> LogEvent.LOCK_RELEASED_ELSEWHERE
                        .of(name, LOG.atWarn())
                        .log(
                                "A handle of lock '{}' was released by another thread than the one that acquired it, and that"
                                        + " one has entered the lock again: two threads may have worked under it at once. Call"
                                        + " detach() before you pass a handle to another thread ({})",
                                name,
                                callSite));
    }

    private void oncePerCallSite(String entry, Consumer<String> warning) {
        if (warnedCallSites.size() < MAX_CALL_SITES) {
            String callSite = callSite(entry);
            if (warnedCallSites.add(callSite)) {
                warning.accept(callSite);
            }
        }
    }

    /** Warns that the transaction does not belong to the lock service's transaction manager. */
    void unfenced(String name) {
        warnOnce(
                hasWarnedOfUnfenced,
                LogEvent.TRANSACTION_UNFENCED,
                name,
                "Lock '{}' was acquired in a transaction whose commit is not fenced: the lock service does not know its"
                        + " transaction manager, or that manager belongs to another persistence unit. This is logged"
                        + " once");
    }

    /** Warns that more than one release waits for the transaction. */
    void several(String last) {
        warnOnce(
                hasWarnedOfSeveral,
                LogEvent.TRANSACTION_SEVERAL_LOCKS,
                last,
                "Several locks, the last of them '{}', stay held until one transaction ends. Two such transactions that"
                        + " lock the names in different orders wait for each other: use acquireAll. This is logged"
                        + " once");
    }

    private static void warnOnce(AtomicBoolean hasWarned, LogEvent event, String name, String text) {
        if (hasWarned.compareAndSet(false, true)) {
            event.of(name, LOG.atWarn()).log(text, name);
        }
    }

    /** The line of the application that called the library. */
    private static String callSite(String entry) {
        return StackWalker.getInstance()
                .walk(frames -> frames.dropWhile(frame -> !frame.getClassName().equals(entry))
                        .filter(frame -> !isBetween(frame.getClassName()))
                        .findFirst()
                        .map(frame -> frame.getClassName() + "." + frame.getMethodName() + ":" + frame.getLineNumber())
                        .orElse("unknown"));
    }

    private static boolean isBetween(String className) {
        return className.startsWith(ACQUISITION)
                || className.startsWith(RELEASE)
                || className.startsWith(HERE + ".Deadline")
                || className.startsWith("io.github.holdfast.lock.Lock")
                || className.startsWith("io.github.holdfast.task.TaskLock")
                || className.startsWith("io.github.holdfast.service.Lock")
                || className.startsWith("io.github.holdfast.annotation.")
                || className.contains("$$SpringCGLIB$$")
                || className.contains("$Proxy")
                || className.startsWith("java.")
                || className.startsWith("jdk.")
                || className.startsWith("org.springframework.");
    }
}

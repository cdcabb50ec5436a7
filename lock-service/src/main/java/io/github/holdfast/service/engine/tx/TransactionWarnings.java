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

    /** What the names of the engine's classes begin with: the package above this one. */
    private static final String ENGINE = TransactionWarnings.class
            .getPackageName()
            .substring(0, TransactionWarnings.class.getPackageName().lastIndexOf('.') + 1);

    private static final int MAX_CALL_SITES = 1000;

    private final Set<String> warnedCallSites = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean hasWarnedOfUnfenced = new AtomicBoolean();
    private final AtomicBoolean hasWarnedOfSeveral = new AtomicBoolean();

    /** Warns that the transaction has read before the lock was acquired. */
    void oldSnapshot(String name) {
        oncePerCallSite(callSite -> {
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

    /** Warns that a thread other than the acquiring one has released a handle while others of the same hold are open. */
    void releasedElsewhere(String name) {
        oncePerCallSite(callSite -> LogEvent.LOCK_RELEASED_ELSEWHERE
                .of(name, LOG.atWarn())
                .log(
                        "A handle of lock '{}' was released by a thread other than the one that acquired it, which has"
                                + " acquired the lock again since: two threads may have worked under it at once. Call"
                                + " detach() before you pass a handle to another thread ({})",
                        name,
                        callSite));
    }

    private void oncePerCallSite(Consumer<String> warning) {
        if (warnedCallSites.size() < MAX_CALL_SITES) {
            String callSite = callSite();
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

    /** Warns that a lock was acquired while the release of another one waits for the transaction. */
    void several(String last) {
        warnOnce(
                hasWarnedOfSeveral,
                LogEvent.TRANSACTION_SEVERAL_LOCKS,
                last,
                "Lock '{}' was acquired while another one, although it was released, stays held until the transaction ends."
                        + " Two such transactions that lock the names in different orders wait for each other: use"
                        + " acquireAll. This is logged once");
    }

    /** Warns that rows may not have been locked until the transaction's end. */
    static void unguarded(String name) {
        LogEvent.TRANSACTION_UNGUARDED
                .of(name, LOG.atWarn())
                .log(
                        "A transaction under lock '{}' may have committed unguarded: the connection that kept the lock's row locked"
                                + " broke before the transaction ended. If the lock was lost meanwhile, another holder may have had it",
                        name);
    }

    private static void warnOnce(AtomicBoolean hasWarned, LogEvent event, String name, String text) {
        if (hasWarned.compareAndSet(false, true)) {
            event.of(name, LOG.atWarn()).log(text, name);
        }
    }

    /** The line of the application that called the library. */
    private static String callSite() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> !isBetween(frame.getClassName()))
                        .findFirst()
                        .map(frame -> frame.getClassName() + "." + frame.getMethodName() + ":" + frame.getLineNumber())
                        .orElse("unknown"));
    }

    private static boolean isBetween(String className) {
        return className.startsWith(ENGINE)
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

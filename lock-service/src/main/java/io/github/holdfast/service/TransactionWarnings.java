package io.github.holdfast.service;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells of locks in transactions that do not do what their caller may expect; each once, or once for each caller. Thread-safe. */
final class TransactionWarnings {

    private static final Logger LOG = LoggerFactory.getLogger(TransactionWarnings.class);

    private static final int MAX_CALL_SITES = 1000;

    private final Set<String> warnedCallSites = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean hasWarnedOfUnfenced = new AtomicBoolean();
    private final AtomicBoolean hasWarnedOfSeveral = new AtomicBoolean();

    /** The transaction has read before the lock was acquired. */
    void oldSnapshot(String name) {
        if (warnedCallSites.size() >= MAX_CALL_SITES) {
            return;
        }
        String callSite = callSite();
        if (warnedCallSites.add(callSite)) {
            LogEvent.TRANSACTION_OLD_SNAPSHOT
                    .of(name, LOG.atWarn())
                    .log(
                            "Lock '{}' was acquired in a transaction that has read before, at REPEATABLE READ or higher: it goes on"
                                    + " seeing what it saw then, and may fail to commit. Acquire before the transaction's first"
                                    + " read ({})",
                            name,
                            callSite);
        }
    }

    /** The transaction is not one of the lock service's transaction manager. */
    void unfenced(String name) {
        warnOnce(
                hasWarnedOfUnfenced,
                LogEvent.TRANSACTION_UNFENCED,
                name,
                "Lock '{}' was acquired in a transaction whose commit is not fenced: the lock service does not know"
                        + " its transaction manager, or that is of another persistence unit. This is logged once");
    }

    /** More than one release waits for the transaction. */
    void several(String last) {
        warnOnce(
                hasWarnedOfSeveral,
                LogEvent.TRANSACTION_SEVERAL_LOCKS,
                last,
                "More than one lock, the last of them '{}', stays held until one transaction ends. Two transactions"
                        + " that lock the same names in different orders wait for each other: use acquireAll. This is"
                        + " logged once");
    }

    private static void warnOnce(AtomicBoolean hasWarned, LogEvent event, String name, String text) {
        if (hasWarned.compareAndSet(false, true)) {
            event.of(name, LOG.atWarn()).log(text, name);
        }
    }

    /** Where the application has called; all ways of acquiring lead through {@link LockService}. */
    private static String callSite() {
        String entry = LockService.class.getName();
        return StackWalker.getInstance()
                .walk(frames -> frames.dropWhile(frame -> !frame.getClassName().equals(entry))
                        .filter(frame -> !isBetween(frame.getClassName()))
                        .findFirst()
                        .map(frame -> frame.getClassName() + "." + frame.getMethodName() + ":" + frame.getLineNumber())
                        .orElse("unknown"));
    }

    private static boolean isBetween(String className) {
        String here = TransactionWarnings.class.getPackageName();
        return className.startsWith(here + ".Lock")
                || className.startsWith(here + ".Patience")
                || className.startsWith(here + ".TaskLock")
                || className.startsWith("io.github.holdfast.annotation.")
                || className.contains("$$SpringCGLIB$$")
                || className.contains("$Proxy")
                || className.startsWith("java.")
                || className.startsWith("jdk.")
                || className.startsWith("org.springframework.");
    }
}

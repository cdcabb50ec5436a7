package io.github.holdfast.service;

import static java.time.Duration.ofMinutes;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordingFile;

/** A process on a JDK that has virtual threads: many of them want few names, and what pins their carriers is told. */
final class VirtualThreadWorker {

    static final int THREADS = 1000;

    /** What is told of the one that is pinned to show that this is seen. */
    static final String ON_PURPOSE = "pinned ours " + Pinning.class.getName() + ".<clinit>";

    private static final String PINNED = "jdk.VirtualThreadPinned";
    private static final String OURS = "io.github.holdfast.";
    private static final int NAMES = 10;

    /** Pins the thread that is the first to use it. */
    private static final class Pinning {
        static {
            LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
        }

        private Pinning() {}

        static void use() {}
    }

    private VirtualThreadWorker() {}

    static JavaProcess start(Path javaHome, Database database) {
        return JavaProcess.of(VirtualThreadWorker.class)
                .javaHome(javaHome)
                .jvmArgs("-Xmx256m")
                .args(database.url(), database.user(), database.password())
                .start();
    }

    /** Arguments: URL, user, password. */
    public static void main(String[] args) throws Exception {
        JavaProcess.exitWithParent();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        try (HikariDataSource dataSource = new HikariDataSource(config);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(dataSource, Map.of());
                LockService locks = LockService.builder(unit).build();
                Recording recording = new Recording()) {
            ExecutorService threads = (ExecutorService)
                    Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            // While a class is loaded for the first time, threads that need it are pinned whoever it belongs to.
            takeTurns(locks, threads);
            recording.enable(PINNED).withThreshold(Duration.ZERO).withStackTrace();
            recording.start();
            Future<?> pinning = threads.submit(Pinning::use);
            pinning.get();
            System.out.println(takeTurns(locks, threads));
            recording.stop();
            tell(recording);
        }
        Runtime.getRuntime().halt(0);
    }

    private static String takeTurns(LockService locks, ExecutorService threads) throws Exception {
        int[] turns = new int[NAMES];
        List<AtomicInteger> inside =
                IntStream.range(0, NAMES).mapToObj(name -> new AtomicInteger()).toList();
        AtomicInteger overlaps = new AtomicInteger();
        List<Future<?>> done = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int name = i % NAMES;
            done.add(threads.submit(() -> {
                try (LockHandle lock =
                        locks.acquire(LockRequest.of("virtual " + name).waitAtMost(ofMinutes(2)))) {
                    overlaps.addAndGet(inside.get(name).incrementAndGet() - 1);
                    turns[name]++;
                    LockSupport.parkNanos(1_000_000);
                    inside.get(name).decrementAndGet();
                }
                return null;
            }));
        }
        for (Future<?> thread : done) {
            thread.get();
        }
        return "turns " + IntStream.of(turns).sum() + " overlaps " + overlaps;
    }

    private static void tell(Recording recording) throws Exception {
        Path file = Files.createTempFile("pinned", ".jfr");
        try {
            recording.dump(file);
            for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
                if (event.getEventType().getName().equals(PINNED)) {
                    System.out.println(told(event));
                }
            }
        } finally {
            Files.delete(file);
        }
        System.out.println("end of pinned");
    }

    /** Who is to blame: whose method waits, or whose initializer or native method waits for what it calls. */
    private static String told(RecordedEvent event) {
        List<RecordedMethod> methods = event.getStackTrace() == null
                ? List.of()
                : event.getStackTrace().getFrames().stream()
                        .map(RecordedFrame::getMethod)
                        .toList();
        String waiting = methods.stream()
                .map(VirtualThreadWorker::named)
                .filter(method -> !method.matches("(java|javax|jdk|sun)\\..*"))
                .findFirst()
                .orElse("unknown");
        boolean isPinnedByUs = methods.stream()
                .filter(method -> method.getName().equals("<clinit>") || Modifier.isNative(method.getModifiers()))
                .anyMatch(method -> named(method).startsWith(OURS));
        if (isLoadingAClass(event, methods) && !isPinnedByUs) {
            return "pinned loading " + waiting;
        }
        return (isPinnedByUs || waiting.startsWith(OURS) ? "pinned ours " : "pinned others ") + waiting;
    }

    /** Another thread loads or initializes it at the moment. */
    private static boolean isLoadingAClass(RecordedEvent event, List<RecordedMethod> methods) {
        return String.valueOf(event.getString("pinnedReason")).startsWith("Waited for initialization")
                || methods.stream().anyMatch(method -> named(method).equals("java.lang.ClassLoader.loadClass"));
    }

    private static String named(RecordedMethod method) {
        return method.getType().getName() + "." + method.getName();
    }
}

package io.github.holdfast.service;

import static java.time.Duration.ofMillis;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.springframework.dao.ConcurrencyFailureException;

/**
 * A process that takes part in an election. It tells what its callbacks are told, and between which times of the machine's monotonic
 * clock it leads for certain. In {@code onGranted}, it posts to the {@link Ledger} when it is told to.
 */
public final class ElectionWorker {

    static final String NAME = "leader";

    /** How often the leader says that it leads. */
    private static final long TELL_EVERY = TimeUnit.MILLISECONDS.toNanos(10);

    private final BlockingQueue<String> posts = new LinkedBlockingQueue<>();
    private final Semaphore go = new Semaphore(0);
    private final Bookkeeper books;
    private final LeaderElection election;

    private ElectionWorker(Bookkeeper books) {
        this.books = books;
        this.election = books.locks().election(ElectionRequest.of(NAME).retryAfterEnd(ofMillis(500)));
    }

    /** Starts one that is a candidate. */
    static JavaProcess start(String url, String user, String password, Duration nodeLease) throws InterruptedException {
        JavaProcess worker = JavaProcess.of(ElectionWorker.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(url, user, password, String.valueOf(nodeLease.toMillis()))
                .start();
        worker.awaitLine("ready"::equals, JavaProcess.LONGEST_START);
        return worker;
    }

    /** Arguments: URL, user, password, the node's lease in milliseconds. */
    public static void main(String[] args) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(5);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(5000);
        Duration nodeLease = ofMillis(Long.parseLong(args[3]));
        ElectionWorker worker = new ElectionWorker(
                Bookkeeper.on(new HikariDataSource(config), builder -> builder.nodeLease(nodeLease)));
        JavaProcess.commands(worker::obey);
        worker.election.start(worker.new Callbacks());
        tell("ready");
        worker.look();
    }

    private void obey(String command) {
        switch (command) {
            case "resign" -> election.resign();
            case "post" -> posts.add(command);
            case "go" -> go.release();
            case "close" -> {
                election.close();
                tell("closed");
            }
            default -> throw new IllegalArgumentException(command);
        }
    }

    /**
     * Looks all the time. A process that is stopped inside a look proves nothing by it. So it leads for certain from the end of the
     * first look that says so to the beginning of the last one.
     */
    private void look() {
        long term = 0;
        long first = 0;
        long last = 0;
        long toldAt = 0;
        while (true) {
            long before = System.nanoTime();
            long seen = election.leadership().map(Leadership::term).orElse(0L);
            if (seen != term) {
                tellLed(term, first, last);
                term = seen;
                first = System.nanoTime();
                last = before;
            } else if (term != 0) {
                last = before;
                if (before - toldAt > TELL_EVERY) {
                    tellLed(term, first, last);
                    toldAt = before;
                }
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(200));
        }
    }

    private static void tellLed(long term, long first, long last) {
        if (term != 0 && last - first > 0) {
            tell("led " + term + " " + first + " " + last);
        }
    }

    private static synchronized void tell(String line) {
        System.out.println(line);
    }

    private final class Callbacks implements LeaderCallbacks {

        @Override
        public void onGranted(Leadership leadership) throws InterruptedException {
            tell("granted " + leadership.term() + " " + System.nanoTime());
            while (true) {
                String unused = posts.take();
                post(leadership);
            }
        }

        private void post(Leadership leadership) {
            try {
                books.inTransaction(em -> Ledger.post(em, leadership.term(), () -> {
                    tell("between " + leadership.term());
                    go.acquireUninterruptibly();
                }));
                tell("committed " + leadership.term());
            } catch (LockLostException | PersistenceException | ConcurrencyFailureException refused) {
                // A database that reads from a snapshot may refuse the write before the commit is checked.
                tell("refused " + leadership.term());
            }
        }

        @Override
        public void onRevoked(Leadership leadership, RevocationCause cause) {
            tell("revoked " + leadership.term() + " " + cause);
        }
    }
}

package example.plainjpa;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.h2.jdbcx.JdbcDataSource;

/** Two nodes sell the seats of one concert. Then one node does not get the lock, and one loses it. */
public final class PlainJpa {

    private static final String CONCERT = "Winterreise";
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final LockRequest LOCK = LockRequest.of("concert:" + CONCERT);

    private PlainJpa() {}

    /**
     * What happened.
     *
     * @param seatsLeft the remaining seats of 20, after each node has sold 10
     * @param refusal the message to the node that did not get the lock
     * @param loss the message to the node that lost the lock
     * @param seatsLeftAfterLoss the remaining seats after that, as many as before
     */
    record Story(int seatsLeft, String refusal, String loss, int seatsLeftAfterLoss) {}

    /** Takes no arguments. */
    public static void main(String[] args) throws InterruptedException {
        System.out.println("Two nodes sell seats. WARN lines follow: a lock is released by force, on purpose.");
        Story story = tell();
        System.out.printf("Two nodes have sold 10 of 20 seats each. Left: %d%n", story.seatsLeft());
        System.out.printf("While one holds the lock, the other is told:%n  %s%n", story.refusal());
        System.out.printf("A node that loses the lock in the middle of a sale is told:%n  %s%n", story.loss());
        System.out.printf("and has sold nothing. Left: %d%n", story.seatsLeftAfterLoss());
    }

    static Story tell() throws InterruptedException {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        // Creates Holdfast's tables with its own script. A real application uses Liquibase or Flyway for all tables.
        LockSchema.on(database).createIfMissing();
        try (BoxOffice first = new BoxOffice("first", database);
                BoxOffice second = new BoxOffice("second", database)) {
            first.unit().runInTransaction(em -> em.persist(new Concert(CONCERT, 20)));
            CompletableFuture.allOf(sellTen(first), sellTen(second)).join();
            int left = first.seatsLeft(CONCERT);

            first.unit().runInTransaction(em -> em.persist(new Concert("Schwanengesang", 1)));
            String refusal = refusal(first, second);
            String loss = loss(first, second);
            return new Story(left, refusal, loss, first.seatsLeft("Schwanengesang"));
        }
    }

    private static CompletableFuture<Void> sellTen(BoxOffice office) {
        return CompletableFuture.runAsync(
                () -> {
                    try {
                        for (int sold = 0; sold < 10; sold++) {
                            office.sellSeat(CONCERT, LONG, () -> {});
                        }
                    } catch (InterruptedException stopped) {
                        throw new CompletionException(stopped);
                    }
                },
                // Uses new threads, because the common pool may have only one thread. The box offices would then take
                // turns.
                sells -> new Thread(sells, "sells").start());
    }

    private static String refusal(BoxOffice first, BoxOffice second) throws InterruptedException {
        try (LockHandle lock = first.locks().acquire(LOCK)) {
            second.sellSeat(CONCERT, Duration.ofSeconds(2), () -> {});
            return "nothing: it got in";
        } catch (LockNotAcquiredException refused) {
            return String.valueOf(refused.getMessage());
        }
    }

    /**
     * An administrator releases the lock by force during the sale. A node that was frozen for too long would lose it in the same
     * way.
     */
    private static String loss(BoxOffice first, BoxOffice second) throws InterruptedException {
        try {
            first.sellSeat(
                    "Schwanengesang",
                    LONG,
                    () -> second.locks().admin().forceRelease("concert:Schwanengesang", "the example wants it"));
            return "nothing: it was sold";
        } catch (LockLostException lost) {
            return String.valueOf(lost.getMessage());
        }
    }
}

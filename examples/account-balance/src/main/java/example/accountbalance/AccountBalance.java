package example.accountbalance;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Persistence;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.h2.jdbcx.JdbcDataSource;

/** Eight threads empty two accounts, in withdrawals of 1: the first account with retries, the second under a lock. */
public final class AccountBalance {

    static final int BALANCE = 200;

    private static final int THREADS = 8;

    private AccountBalance() {}

    /**
     * The result for one account.
     *
     * @param withdrawn the number of successful withdrawals
     * @param turnedAway the number of failed withdrawals, because other threads were faster too often
     * @param repetitions the number of retries
     * @param balance the remaining balance
     * @param overdraft the answer to a withdrawal of more than the balance
     */
    record Result(int withdrawn, int turnedAway, long repetitions, long balance, String overdraft) {}

    /** Takes no arguments. */
    public static void main(String[] args) {
        System.out.printf("%d threads withdraw %d, 1 at a time.%n", THREADS, BALANCE);
        print("Trying again up to 4 times", run(Teller::withdrawTryingAgain));
        print("Under a lock", run(Teller::withdrawUnderLock));
    }

    private static void print(String how, Result result) {
        System.out.printf(
                "%n%s:%n  withdrawn %d, turned away %d, tried again %d times, left %d%n  wanting more: %s%n",
                how,
                result.withdrawn(),
                result.turnedAway(),
                result.repetitions(),
                result.balance(),
                result.overdraft());
    }

    /** A way to withdraw. */
    interface Way {
        void withdraw(Teller teller, String owner, long amount) throws InterruptedException;
    }

    static Result run(Way way) {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        LockSchema.on(database).createIfMissing();
        try (EntityManagerFactory unit = Persistence.createEntityManagerFactory(
                        "bank", Map.of("jakarta.persistence.nonJtaDataSource", database));
                LockService locks = LockService.builder(unit).build()) {
            unit.runInTransaction(em -> em.persist(new Account("Ada", BALANCE)));
            Teller teller = new Teller(unit, locks);
            AtomicInteger withdrawn = new AtomicInteger();
            AtomicInteger turnedAway = new AtomicInteger();
            CompletableFuture.allOf(Stream.generate(() -> withdrawing(way, teller, withdrawn, turnedAway))
                            .limit(THREADS)
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
            long left =
                    unit.callInTransaction(em -> em.find(Account.class, "Ada").balance());
            return new Result(
                    withdrawn.get(), turnedAway.get(), teller.repetitions(), left, overdraft(way, teller, left + 1));
        }
    }

    private static CompletableFuture<Void> withdrawing(
            Way way, Teller teller, AtomicInteger withdrawn, AtomicInteger turnedAway) {
        return CompletableFuture.runAsync(
                () -> {
                    for (int i = 0; i < BALANCE / THREADS; i++) {
                        try {
                            way.withdraw(teller, "Ada", 1);
                            withdrawn.incrementAndGet();
                        } catch (Teller.TooBusyException busy) {
                            turnedAway.incrementAndGet();
                        } catch (InterruptedException stopped) {
                            return;
                        }
                    }
                },
                thread -> new Thread(thread, "withdraws").start());
    }

    private static String overdraft(Way way, Teller teller, long tooMuch) {
        try {
            way.withdraw(teller, "Ada", tooMuch);
            return "withdrawn";
        } catch (IllegalArgumentException refused) {
            return String.valueOf(refused.getMessage());
        } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
        }
    }
}

package example.twounits;

import static example.twounits.ArchiveConfiguration.ARCHIVE;

import example.twounits.Ledger.Outcome;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.util.Optional;
import java.util.UUID;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.orm.jpa.JpaTransactionManager;

/** Shows what the locks of the orders protect in each database, and what the archive's own locks protect. */
public final class TwoPersistenceUnits {

    private TwoPersistenceUnits() {}

    /**
     * What happened.
     *
     * @param orders the result for an order under a lock of the orders
     * @param ordersLost the same, but the lock was released by force before the commit
     * @param archiveUnderOrders the result for an archived order under a lock of the orders, which was released by force
     * @param archiveRefused the same, but the request required a fence
     * @param archiveLost the result for an archived order under a lock of the archive, which was released by force
     * @param areApart whether both services can have a lock of the same name at the same time
     */
    record Story(
            Outcome orders,
            Outcome ordersLost,
            Outcome archiveUnderOrders,
            Outcome archiveRefused,
            Outcome archiveLost,
            boolean areApart) {}

    /** Takes no arguments. */
    public static void main(String[] args) throws InterruptedException {
        System.out.println("Orders go to two databases. WARN lines follow: locks are released by force, on purpose.");
        Story story = tell();
        print("An order under a lock of the orders", story.orders());
        print("  that is taken away", story.ordersLost());
        print("An archived order under a lock of the orders that is taken away", story.archiveUnderOrders());
        print("  that requires a fence", story.archiveRefused());
        print("An archived order under a lock of the archive that is taken away", story.archiveLost());
        System.out.printf(
                "Both services %s have locks of the same name at once.%n", story.areApart() ? "can" : "cannot");
    }

    private static void print(String what, Outcome outcome) {
        System.out.printf(
                "%s: %s, %s%n",
                what, outcome.isStored() ? "stored" : "not stored", outcome.wasFenced() ? "fenced" : "not fenced");
        if (!outcome.problem().isEmpty()) {
            System.out.printf("    %s%n", outcome.problem());
        }
    }

    static Story tell() throws InterruptedException {
        try (ConfigurableApplicationContext application = new SpringApplicationBuilder(UnitsApplication.class)
                .properties("orders.datasource.jdbc-url=" + database(), "archive.datasource.jdbc-url=" + database())
                .run()) {
            LockService orderLocks = application.getBean(LockService.class);
            LockService archiveLocks = application.getBean(ARCHIVE + "Locks", LockService.class);
            Ledger orders = ledger(application, "orders");
            Ledger archive = ledger(application, ARCHIVE);
            return new Story(
                    orders.store(new PurchaseOrder(1), orderLocks, lock(1).requireFence(), () -> {}),
                    orders.store(
                            new PurchaseOrder(2), orderLocks, lock(2).requireFence(), () -> takeAway(orderLocks, 2)),
                    archive.store(new ArchivedOrder(3), orderLocks, lock(3), () -> takeAway(orderLocks, 3)),
                    archive.storeAndAcquire(new ArchivedOrder(4), orderLocks, lock(4).requireFence()),
                    archive.store(
                            new ArchivedOrder(5),
                            archiveLocks,
                            lock(5).requireFence(),
                            () -> takeAway(archiveLocks, 5)),
                    areApart(orderLocks, archiveLocks));
        }
    }

    private static String database() {
        return "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    }

    private static Ledger ledger(ConfigurableApplicationContext application, String unit) {
        return new Ledger(
                application.getBean(unit, EntityManagerFactory.class),
                application.getBean(unit + "Transactions", JpaTransactionManager.class));
    }

    private static LockRequest lock(long order) {
        return LockRequest.of("order:" + order);
    }

    /**
     * Releases the lock by force, as an administrator can. A process that was frozen for too long would lose it in the same way.
     */
    private static void takeAway(LockService locks, long order) {
        locks.admin().forceRelease(lock(order).name(), "the example wants it");
    }

    private static boolean areApart(LockService orderLocks, LockService archiveLocks) {
        try (LockHandle ofOrders = orderLocks.tryAcquire(lock(6)).orElseThrow()) {
            Optional<LockHandle> ofArchive = archiveLocks.tryAcquire(lock(6));
            ofArchive.ifPresent(LockHandle::close);
            return ofArchive.isPresent();
        }
    }
}

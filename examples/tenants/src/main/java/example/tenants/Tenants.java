package example.tenants;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.util.UUID;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** Shows which locks tenants share, and that a transaction of a tenant does not commit after its lock was lost. */
public final class Tenants {

    private Tenants() {}

    /**
     * What happened.
     *
     * @param north the number of an invoice of the tenant north
     * @param south the number of an invoice of the tenant south, while the lock of north was held elsewhere
     * @param refused whether north wrote no invoice meanwhile
     * @param nightly whether a thread without a tenant had the lock of a job for all tenants
     * @param lost whether a transaction failed because its lock was released by force before the commit
     * @param ofNorth how many invoices north has at the end
     */
    record Story(long north, long south, boolean refused, boolean nightly, boolean lost, long ofNorth) {}

    /** Takes no arguments. */
    public static void main(String[] args) throws InterruptedException {
        System.out.println("Two tenants write invoices. WARN lines follow: a lock is released by force, on purpose.");
        Story story = tell();
        System.out.printf("North writes invoice %d.%n", story.north());
        System.out.printf("South writes invoice %d while the lock of north is held elsewhere.%n", story.south());
        System.out.printf("North %s meanwhile.%n", story.refused() ? "writes none" : "writes one");
        System.out.printf("A job for all tenants %s the lock.%n", story.nightly() ? "has" : "does not have");
        System.out.printf(
                "A transaction whose lock was taken away %s.%n", story.lost() ? "does not commit" : "commits");
        System.out.printf("North has %d invoice(s).%n", story.ofNorth());
    }

    static Story tell() throws InterruptedException {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(TenantsApplication.class)
                .run("--spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1")) {
            CurrentTenant tenant = context.getBean(CurrentTenant.class);
            Invoices invoices = context.getBean(Invoices.class);
            LockService locks = context.getBean(LockService.class);

            long north = tenant.as("north", () -> invoices.write(() -> {}));
            long south;
            boolean isRefused;
            try (LockHandle elsewhere =
                    locks.acquire(LockRequest.of("north:invoices").owner("elsewhere"))) {
                south = tenant.as("south", () -> invoices.write(() -> {}));
                isRefused = tenant.as("north", () -> isRefused(invoices));
            }
            boolean hasNightly;
            try (LockHandle nightly = locks.acquire(LockRequest.of("nightly"))) {
                hasNightly = locks.find(nightly.name()).isPresent();
            }
            boolean isLost = tenant.as("north", () -> isLost(invoices, locks));
            return new Story(north, south, isRefused, hasNightly, isLost, tenant.as("north", invoices::count));
        }
    }

    private static boolean isRefused(Invoices invoices) {
        try {
            invoices.write(() -> {});
            return false;
        } catch (LockNotAcquiredException refused) {
            return true;
        }
    }

    private static boolean isLost(Invoices invoices, LockService locks) {
        try {
            invoices.write(() -> locks.admin().forceRelease("north:invoices", "to see the commit fail"));
            return false;
        } catch (LockLostException lost) {
            return true;
        }
    }
}

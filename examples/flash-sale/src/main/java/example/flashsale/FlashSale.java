package example.flashsale;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.PayloadApplicationEvent;

/**
 * Two instances of a shop sell one stock to a crowd of customers. Then one customer waits in vain, and the purchase of another
 * loses its lock before the commit.
 */
public final class FlashSale {

    static final int STOCK = 60;
    static final int CUSTOMERS = 8;

    private static final String ITEM = "lamp";
    private static final String LOCK = "item:" + ITEM;

    private FlashSale() {}

    /**
     * What happened.
     *
     * @param last the last response to each customer of the crowd
     * @param receipts the number of receipts for the crowd
     * @param left the number of lamps after the sale to the crowd
     * @param waitedInVain the response to the customer not served in time
     * @param interrupted the response to the customer whose purchase lost the lock
     * @param receiptsOfInterrupted the number of receipts of that customer
     * @param leftAtTheEnd the number of lamps after that; one lamp was delivered before
     * @param unknown the response for an unknown item
     */
    record Story(
            List<Customer.Answer> last,
            long receipts,
            int left,
            Customer.Answer waitedInVain,
            Customer.Answer interrupted,
            long receiptsOfInterrupted,
            int leftAtTheEnd,
            Customer.Answer unknown) {}

    /** Takes no arguments. */
    public static void main(String[] args) throws Exception {
        System.out.println("Two shops sell lamps. WARN lines follow: a lock is released by force, on purpose.");
        Story story = tell();
        System.out.printf("%d customers have bought %d of %d lamps", CUSTOMERS, story.receipts(), STOCK);
        System.out.printf(" in two shops. Left: %d%n", story.left());
        System.out.printf("In the end, they were told:%n  %s%n", story.last().get(0));
        System.out.printf("Response if the lock is not free in time:%n  %s%n", story.waitedInVain());
        System.out.printf("Response if the lock is lost during a purchase:%n  %s%n", story.interrupted());
        System.out.printf(
                "and got %d receipts. Left, of one: %d%n", story.receiptsOfInterrupted(), story.leftAtTheEnd());
        System.out.printf("Response for an unknown item:%n  %s%n", story.unknown());
    }

    static Story tell() throws Exception {
        String database = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
        try (ConfigurableApplicationContext north = start("north", database);
                ConfigurableApplicationContext south = start("south", database)) {
            ItemRepository items = north.getBean(ItemRepository.class);
            ReceiptRepository receipts = north.getBean(ReceiptRepository.class);

            items.save(new Item(ITEM, STOCK));
            List<Customer.Answer> last = sellOut(north, south);
            long sold = receipts.count();
            int left = items.findById(ITEM).orElseThrow().stock();

            items.save(new Item(ITEM, 1));
            Customer.Answer waitedInVain = waitInVain(north, south);
            Customer.Answer interrupted = interrupt(north, south);
            return new Story(
                    last,
                    sold,
                    left,
                    waitedInVain,
                    interrupted,
                    receipts.countByCustomer("Eve"),
                    items.findById(ITEM).orElseThrow().stock(),
                    customer("Ada", north, "sofa").buy());
        }
    }

    /** The example runs two instances in one process, to keep it simple. They share only the database. */
    private static ConfigurableApplicationContext start(String shop, String database) {
        return new SpringApplicationBuilder(ShopApplication.class)
                .properties("spring.application.name=" + shop, "spring.datasource.url=" + database)
                .run();
    }

    private static Customer customer(String name, ConfigurableApplicationContext shop, String item) {
        int port = shop.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
        return new Customer(name, port, item);
    }

    private static List<Customer.Answer> sellOut(
            ConfigurableApplicationContext north, ConfigurableApplicationContext south) throws Exception {
        ExecutorService crowd = Executors.newFixedThreadPool(CUSTOMERS);
        try {
            List<Future<Customer.Answer>> buying = new ArrayList<>();
            for (int i = 0; i < CUSTOMERS; i++) {
                Customer customer = customer("customer-" + i, i % 2 == 0 ? north : south, ITEM);
                buying.add(crowd.submit(customer::buyAllThereIs));
            }
            List<Customer.Answer> last = new ArrayList<>();
            for (Future<Customer.Answer> one : buying) {
                last.add(one.get());
            }
            return last;
        } finally {
            crowd.shutdownNow();
        }
    }

    /** One shop holds the lock for longer than the other shop lets its customer wait. */
    private static Customer.Answer waitInVain(
            ConfigurableApplicationContext north, ConfigurableApplicationContext south) throws Exception {
        LockService locks = south.getBean(LockService.class);
        try (LockHandle lock = locks.acquire(LockRequest.of(LOCK))) {
            return customer("Bob", north, ITEM).buy();
        }
    }

    /**
     * An administrator releases the lock by force right before the commit. A shop that was frozen for too long would lose it in
     * the same way.
     */
    private static Customer.Answer interrupt(ConfigurableApplicationContext north, ConfigurableApplicationContext south)
            throws Exception {
        LockAdmin admin = south.getBean(LockAdmin.class);
        north.addApplicationListener(event -> {
            if (event instanceof PayloadApplicationEvent<?> published && published.getPayload() instanceof Purchased) {
                admin.forceRelease(LOCK, "the example wants it");
            }
        });
        return customer("Eve", north, ITEM).buy();
    }
}

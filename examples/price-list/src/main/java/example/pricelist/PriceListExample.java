package example.pricelist;

import io.github.holdfast.lock.LockLostException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Two instances of a shop take orders at the prices of one list, while that is replaced again and again. Then a new list waits for
 * an order, another order is too slow to commit, and partners export the list.
 */
public final class PriceListExample {

    static final List<String> ITEMS = List.of("bed", "chair", "desk", "lamp", "shelf");
    static final int CUSTOMERS = 6;
    static final int EDITIONS = 10;
    static final int PARTNERS = 9;

    /** As in {@code application.properties}. */
    static final int EXPORTS_AT_ONCE = 3;

    private PriceListExample() {}

    /**
     * What happened.
     *
     * @param crowd what the crowd of customers has ordered
     * @param punctual what happened to an order that committed while a new list waited for it
     * @param refused why the order was refused whose lease had expired, and whose prices were replaced; empty if it was not
     * @param ordersOfRefused the number of orders of that customer
     * @param exports what the exports have read
     */
    record Story(
            Replacements.Crowd crowd,
            Replacements.Punctual punctual,
            Optional<LockLostException> refused,
            long ordersOfRefused,
            ExportRush.Result exports) {}

    /** Takes no arguments. */
    public static void main(String[] args) throws Exception {
        System.out.println("Two shops take orders. WARN lines follow: an order outlives its lease, on purpose.");
        Story story = tell();
        System.out.printf(
                "%d customers have ordered %d times in two shops, at prices of %d lists.%n",
                CUSTOMERS, story.crowd().orders(), EDITIONS);
        System.out.printf(
                "Orders at prices of two lists:           %d%n", story.crowd().mixed());
        System.out.printf(
                "Orders at prices that were replaced:     %d%n", story.crowd().late());
        System.out.printf(
                "A new list has waited for a slow order:  %s%n",
                story.punctual().hasKeptWriterWaiting() ? "yes" : "no");
        System.out.printf(
                "An order whose lease was over is told:%n  %s%n",
                story.refused().map(LockLostException::getMessage).orElse("nothing"));
        System.out.printf("and was stored %d times.%n", story.ordersOfRefused());
        System.out.printf(
                "%d partners have exported the list, at most %d at once.%n",
                PARTNERS, story.exports().mostAtOnce());
    }

    static Story tell() throws Exception {
        String database = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ConfigurableApplicationContext north = start("north", database);
                ConfigurableApplicationContext south = start("south", database);
                ConfigurableApplicationContext hasty = start("hasty", database, "--shop.order-lease=1s")) {
            Shop first = new Shop(north);
            Shop second = new Shop(south);
            Replacements replacements = new Replacements(first, second, threads);
            return new Story(
                    replacements.amongCustomers(),
                    replacements.duringAnOrder(),
                    replacements.duringAnOrderThatIsTooSlow(new Shop(hasty)),
                    first.ordersOf(Replacements.TOO_SLOW),
                    new ExportRush(first, second, threads).run());
        } finally {
            threads.shutdownNow();
        }
    }

    /** The example runs all instances in one process, to keep it simple. They share only the database. */
    private static ConfigurableApplicationContext start(String shop, String database, String... arguments) {
        return new SpringApplicationBuilder(ShopApplication.class)
                .properties("spring.application.name=" + shop, "spring.datasource.url=" + database)
                .run(arguments);
    }
}

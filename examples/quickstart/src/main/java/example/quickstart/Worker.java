package example.quickstart;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Persistence;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import javax.sql.DataSource;

/**
 * One of the three processes. It executes commands from its standard input, until the input ends together with the parent
 * process.
 */
final class Worker {

    static final String SELL_WITHOUT_LOCK = "sell without lock";
    static final String SELL_UNDER_LOCK = "sell under lock";

    private Worker() {}

    public static void main(String[] args) throws InterruptedException {
        BlockingQueue<String> orders = orders();
        try (HikariDataSource dataSource = dataSource(args[0]);
                EntityManagerFactory entityManagerFactory = entityManagerFactory(dataSource);
                LockService locks = LockService.builder(entityManagerFactory).build()) {
            Seller seller = new Seller(args[1], entityManagerFactory, locks);
            while (true) {
                System.out.println("ready");
                if (orders.take().equals(SELL_UNDER_LOCK)) {
                    seller.sellOutUnderLock();
                } else {
                    seller.sellOutWithoutLock();
                }
            }
        }
    }

    private static HikariDataSource dataSource(String url) {
        HikariDataSource dataSource = new HikariDataSource();
        dataSource.setJdbcUrl(url);
        dataSource.setMaximumPoolSize(2);
        return dataSource;
    }

    static EntityManagerFactory entityManagerFactory(DataSource dataSource) {
        return Persistence.createEntityManagerFactory(
                "shop", Map.of("jakarta.persistence.nonJtaDataSource", dataSource));
    }

    /** Reads commands on a separate thread, to notice the end of the parent process at once. */
    private static BlockingQueue<String> orders() {
        BlockingQueue<String> orders = new LinkedBlockingQueue<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Thread reader = new Thread(() -> {
            try {
                input.lines().forEach(orders::add);
            } finally {
                Runtime.getRuntime().halt(0);
            }
        });
        reader.setDaemon(true);
        reader.start();
        return orders;
    }
}

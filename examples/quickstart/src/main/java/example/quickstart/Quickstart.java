package example.quickstart;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * Three processes sell the same lamps from one table, first without a lock and then under a lock. Exits with 1 if the lock did
 * not prevent wrong sales.
 */
final class Quickstart {

    private Quickstart() {}

    /** The optional argument is the number of lamps, 100 by default. */
    public static void main(String[] args) throws Exception {
        int lamps = args.length == 0 ? 100 : Integer.parseInt(args[0]);
        // Opens the database server only to processes on this machine.
        System.setProperty("h2.bindAddress", "127.0.0.1");
        Path directory = Files.createTempDirectory("holdfast-quickstart-");
        boolean good;
        try {
            good = run("jdbc:h2:" + directory.resolve("shop") + ";AUTO_SERVER=TRUE", lamps);
        } finally {
            delete(directory);
        }
        System.exit(good ? 0 : 1);
    }

    private static boolean run(String url, int lamps) throws IOException, SQLException, InterruptedException {
        System.out.printf("Three processes sell %d lamps. Each reads the stock and writes it back, less one.%n", lamps);
        try (Shop shop = Shop.create(url);
                WorkerProcess first = new WorkerProcess("worker-1", url);
                WorkerProcess second = new WorkerProcess("worker-2", url);
                WorkerProcess third = new WorkerProcess("worker-3", url)) {
            List<WorkerProcess> workers = List.of(first, second, third);
            workers.forEach(WorkerProcess::awaitReady);
            System.out.printf("They are %s, %s and %s.%n", first, second, third);

            System.out.printf("%nWithout a lock%n   time   sales%n");
            Books without = sellOut(shop, workers, Worker.SELL_WITHOUT_LOCK, lamps);
            System.out.printf("%nUnder the lock \"stock:lamp\"%n   time   sales (longest wait for the lock)%n");
            Books with = sellOut(shop, workers, Worker.SELL_UNDER_LOCK, lamps);

            Verdict verdict = new Verdict(names(workers), without, with);
            verdict.print();
            return verdict.isGood();
        }
    }

    private static Books sellOut(Shop shop, List<WorkerProcess> workers, String order, int lamps)
            throws IOException, SQLException, InterruptedException {
        shop.stockUp(lamps);
        Timeline timeline = new Timeline(names(workers));
        CompletableFuture<?>[] done = new CompletableFuture<?>[workers.size()];
        for (int i = 0; i < done.length; i++) {
            done[i] = workers.get(i).begin(order);
        }
        CompletableFuture<Void> allDone = CompletableFuture.allOf(done);
        while (!allDone.isDone()) {
            Thread.sleep(250);
            timeline.print(shop.books(lamps));
        }
        allDone.join();
        return shop.books(lamps);
    }

    private static List<String> names(List<WorkerProcess> workers) {
        return workers.stream().map(WorkerProcess::name).toList();
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }
}

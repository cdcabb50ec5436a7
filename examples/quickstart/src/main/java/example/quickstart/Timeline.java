package example.quickstart;

import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** Prints the progress of a run. */
final class Timeline {

    private final List<String> workers;
    private final long start = System.nanoTime();

    Timeline(List<String> workers) {
        this.workers = workers;
    }

    void print(Books books) {
        String each = workers.stream()
                .map(worker -> "%s %3d%s".formatted(worker, books.soldBy(worker), longestWait(books, worker)))
                .collect(Collectors.joining("   "));
        System.out.printf(
                "%5.1f s   %s   sold %3d, left %3d%s%n",
                elapsed().toMillis() / 1000.0, each, books.sold(), books.left(), lastToken(books.tokens()));
    }

    Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    private static String longestWait(Books books, String worker) {
        return books.tokens().isEmpty() ? "" : " (%3d ms)".formatted(books.longestWaitMillis(worker));
    }

    private static String lastToken(List<Long> tokens) {
        return tokens.isEmpty() ? "" : "   token " + tokens.get(tokens.size() - 1);
    }
}

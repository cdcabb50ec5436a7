package example.fromshedlock;

import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Updates an application of two nodes from one release to the next, one node at a time. The task goes on meanwhile. Once, the release
 * in the middle is left out: then nodes with different tables run at the same time, and the task runs too often.
 */
public final class RollingUpdate {

    static final List<String> DIRECTLY = List.of("before", "after");
    static final List<String> SAFELY = List.of("before", "both", "after");

    /**
     * Less than {@code lockAtLeastFor}, because a run is recorded a little after the lock was acquired, on a busy machine a second later.
     * More than half of it, so that two locks that know nothing of each other always run a task too soon.
     */
    private static final Duration TOO_SOON = Duration.ofMillis(1300);

    private static final int RUNS_OF_EACH_STEP = 3;
    private static final long LONGEST_STEP_SECONDS = 60;

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

    private RollingUpdate() {}

    record Run(String release, Instant begunAt) {}

    /** What happened: all runs, in their order. */
    record Story(List<Run> runs) {

        /** Returns how many runs began too soon after the run before. */
        long tooSoon() {
            return IntStream.range(1, runs.size())
                    .filter(next -> runs.get(next)
                            .begunAt()
                            .isBefore(runs.get(next - 1).begunAt().plus(TOO_SOON)))
                    .count();
        }
    }

    /** Takes no arguments. */
    public static void main(String[] args) throws Exception {
        Story directly = tell(DIRECTLY);
        Story safely = tell(SAFELY);
        System.out.printf("%-28s %20s %20s%n", "", "directly", "by way of both");
        System.out.printf(
                "  %-26s %20d %20d%n",
                "runs of the task", directly.runs().size(), safely.runs().size());
        System.out.printf("  %-26s %20d %20d%n", "too soon", directly.tooSoon(), safely.tooSoon());
    }

    static Story tell(List<String> releases) throws InterruptedException {
        return new RollingUpdate().update(releases);
    }

    private Story update(List<String> releases) throws InterruptedException {
        List<ConfigurableApplicationContext> nodes = new ArrayList<>();
        try {
            nodes.add(start(releases.get(0)));
            nodes.add(start(releases.get(0)));
            JdbcTemplate jdbc = new JdbcTemplate(new DriverManagerDataSource(url, "sa", ""));
            awaitMoreRuns(jdbc);
            for (String release : releases.subList(1, releases.size())) {
                for (int node = 0; node < nodes.size(); node++) {
                    nodes.get(node).close();
                    nodes.set(node, start(release));
                    awaitMoreRuns(jdbc);
                }
            }
            return new Story(runs(jdbc));
        } finally {
            nodes.forEach(ConfigurableApplicationContext::close);
        }
    }

    private ConfigurableApplicationContext start(String release) {
        return new SpringApplicationBuilder(ShopApplication.class)
                .profiles(release)
                .properties("spring.datasource.url=" + url)
                .run();
    }

    private static List<Run> runs(JdbcTemplate jdbc) {
        return jdbc.query(
                "select release, begun_at from reminder_run order by id",
                (row, number) -> new Run(
                        row.getString(1), row.getObject(2, Timestamp.class).toInstant()));
    }

    private static void awaitMoreRuns(JdbcTemplate jdbc) throws InterruptedException {
        int wanted = runs(jdbc).size() + RUNS_OF_EACH_STEP;
        long begun = System.nanoTime();
        while (runs(jdbc).size() < wanted) {
            if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(LONGEST_STEP_SECONDS)) {
                throw new IllegalStateException("The task has stopped: " + runs(jdbc));
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }
}

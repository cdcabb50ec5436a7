package example.nightlyjob;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.RunInfo;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.h2.tools.Server;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** Two processes schedule the same task, and one of them is killed during a run. The history of runs shows what happened. */
public final class NightlyJob {

    static final String STEADY = "steady";
    static final String DOOMED = "doomed";

    private static final long LONGEST_WAIT_SECONDS = 60;

    private NightlyJob() {}

    /**
     * What happened.
     *
     * @param killed the run during which its process was killed, as recorded right after the kill
     * @param runs all runs, the newest first
     */
    record Story(RunInfo killed, List<RunInfo> runs) {

        /** Returns the node of a run. */
        static String node(RunInfo run) {
            return String.valueOf(run.holder()).startsWith(DOOMED) ? DOOMED : STEADY;
        }
    }

    /** Takes no arguments. */
    public static void main(String[] args) throws Exception {
        System.out.println("Two nodes share a task. A WARN line follows: one is killed during a run, on purpose.");
        Story story = tell();
        System.out.printf(
                "The run of period %d hung, and its process was killed.%n",
                story.killed().period());
        System.out.printf(
                "The history, the last run first:%n%n  period      node    begun at                     status%n");
        for (RunInfo run : story.runs()) {
            System.out.printf(
                    "  %d  %s  %-27s  %-9s %s%n",
                    run.period(), Story.node(run), run.begunAt(), run.status(), run.error() == null ? "" : run.error());
        }
    }

    static Story tell() throws Exception {
        // Opens the database server only to processes on this machine. H2 reads this property when its classes are
        // loaded.
        System.setProperty("h2.bindAddress", "127.0.0.1");
        String name = "mem:" + UUID.randomUUID();
        // The database lives as long as a connection is open.
        try (Connection keeping = DriverManager.getConnection("jdbc:h2:" + name, "sa", "")) {
            Server server =
                    Server.createTcpServer("-tcpPort", "0", "-tcpDaemon").start();
            try {
                return killOneOfTwo("jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/" + name);
            } finally {
                server.stop();
            }
        }
    }

    private static Story killOneOfTwo(String url) throws Exception {
        // The nodes call at different rates, so that either may be the first in a period.
        try (NodeProcess steady = NodeProcess.start(STEADY, url, "report.called-every=97");
                NodeProcess doomed = NodeProcess.start(DOOMED, url, "report.called-every=83", "report.hanging-run=2");
                ConfigurableApplicationContext watching = watch(url)) {
            LockAdmin admin = watching.getBean(LockAdmin.class);
            doomed.awaitLine(Report.HANGS);
            doomed.kill();
            RunInfo killed = runs(admin).stream()
                    .filter(run -> Story.node(run).equals(DOOMED))
                    .findFirst()
                    .orElseThrow();
            // The dead node keeps the lock until its lease has expired. Then the other node continues.
            await(admin, runs -> succeededAfter(killed, runs) >= 2);
            return new Story(killed, runs(admin));
        }
    }

    /** Starts an application without the task. It can read the history of runs. */
    private static ConfigurableApplicationContext watch(String url) {
        return new SpringApplicationBuilder(Watch.class)
                .properties("spring.datasource.url=" + url)
                .run();
    }

    @EnableAutoConfiguration
    static class Watch {}

    private static long succeededAfter(RunInfo killed, List<RunInfo> runs) {
        return runs.stream()
                .filter(run -> run.fencingToken() > killed.fencingToken())
                .filter(run -> run.status() == LockRun.Status.SUCCEEDED)
                .count();
    }

    private static List<RunInfo> runs(LockAdmin admin) {
        return admin.runs(Report.NAME, Long.MAX_VALUE, LockAdmin.MAX_PAGE_SIZE);
    }

    private static void await(LockAdmin admin, Predicate<List<RunInfo>> condition) throws InterruptedException {
        long begun = System.nanoTime();
        while (!condition.test(runs(admin))) {
            if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS)) {
                throw new IllegalStateException("It has not happened: " + runs(admin));
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }
}

package example.nightlyjob;

import io.github.holdfast.entity.RunStatus;
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

/** Two processes schedule one task; one is killed in the middle of a run. The history of runs tells what happened. */
public final class NightlyJob {

    static final String STEADY = "steady";
    static final String DOOMED = "doomed";

    private static final long LONGEST_WAIT_SECONDS = 60;

    private NightlyJob() {}

    /**
     * What happened.
     *
     * @param killed the run in whose middle its process was killed, as it was written down right after that
     * @param runs all runs, the last one first
     */
    record Story(RunInfo killed, List<RunInfo> runs) {

        /** Which node ran it. */
        static String node(RunInfo run) {
            return String.valueOf(run.holder()).startsWith(DOOMED) ? DOOMED : STEADY;
        }
    }

    /** Takes no arguments. */
    public static void main(String[] args) throws Exception {
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
        // The database is served to the other processes on this machine only. H2 reads it when it is loaded.
        System.setProperty("h2.bindAddress", "127.0.0.1");
        String name = "mem:" + UUID.randomUUID();
        // It lives as long as somebody is connected.
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
        // They call at different rates, so that now the one is first in a period, now the other.
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
            // Until its lease is over, the dead node keeps the lock. Then the other one goes on.
            await(admin, runs -> succeededAfter(killed, runs) >= 2);
            return new Story(killed, runs(admin));
        }
    }

    /** An application without the task, which can look at its runs. */
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
                .filter(run -> run.status() == RunStatus.SUCCEEDED)
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

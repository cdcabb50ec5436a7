package example.leaderelection;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.service.LockService;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.h2.tools.Server;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** Two processes take part in an election. The leader is killed, and the other one follows. */
public final class Election {

    private Election() {}

    /**
     * What happened.
     *
     * @param killed the first leader, as the other processes saw it
     * @param next the second leader
     * @param failOver the time from the kill until the second leader had begun
     * @param lastWords what the second leader said when it was stopped
     */
    record Story(LeaderInfo killed, LeaderInfo next, Duration failOver, String lastWords) {}

    /** Takes no arguments. */
    public static void main(String[] args) throws Exception {
        Story story = tell();
        System.out.printf(
                "'%s' led in term %d, and was killed.%n",
                story.killed().candidate(), story.killed().term());
        System.out.printf(
                "'%s' leads in term %d, %.1f seconds later.%n",
                story.next().candidate(), story.next().term(), story.failOver().toMillis() / 1e3);
        System.out.printf("Then it was stopped: it %s.%n", story.lastWords());
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
                return killTheLeader("jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/" + name);
            } finally {
                server.stop();
            }
        }
    }

    private static Story killTheLeader(String url) throws Exception {
        List<NodeProcess> started = new ArrayList<>();
        try (ConfigurableApplicationContext watching = watch(url)) {
            NodeProcess first = start("first", url, started);
            first.awaitLine(line -> line.startsWith(Reports.LEADS));
            NodeProcess second = start("second", url, started);
            first.awaitLine(Reports.WRITES::equals);
            // This application only observes. It is not a candidate: it does not start its election.
            LeaderElection election =
                    watching.getBean(LockService.class).election(ElectionRequest.of(ElectionNode.NAME));
            LeaderInfo killed = election.leader().orElseThrow();
            second.awaitLine(ElectionNode.READY::equals);
            long begun = System.nanoTime();
            first.kill();
            second.awaitLine(line -> line.startsWith(Reports.LEADS));
            Duration failOver = Duration.ofNanos(System.nanoTime() - begun);
            LeaderInfo next = election.leader().orElseThrow();
            second.awaitLine(Reports.WRITES::equals);
            second.stop();
            String lastWords = second.awaitLine(line -> line.startsWith(Reports.REVOKED));
            return new Story(killed, next, failOver, lastWords);
        } finally {
            for (NodeProcess node : started) {
                node.close();
            }
        }
    }

    private static NodeProcess start(String name, String url, List<NodeProcess> started) throws IOException {
        NodeProcess node = NodeProcess.start(name, url);
        started.add(node);
        return node;
    }

    /** Starts an application that takes no part in the election. */
    private static ConfigurableApplicationContext watch(String url) {
        return new SpringApplicationBuilder(Watch.class)
                .properties("spring.datasource.url=" + url)
                .run();
    }

    @EnableAutoConfiguration
    static class Watch {}
}

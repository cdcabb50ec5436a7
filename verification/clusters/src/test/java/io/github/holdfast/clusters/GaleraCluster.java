package io.github.holdfast.clusters;

import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Three nodes of MariaDB with Galera, from the packages {@code mariadb-server}, {@code galera-4} and {@code rsync} of Debian. */
final class GaleraCluster implements AutoCloseable {

    static final int NODES = 3;

    private static final Duration SOON = Duration.ofMinutes(2);

    private final List<GaleraNode> nodes = new ArrayList<>();

    private GaleraCluster() {}

    /** All nodes run, and have the database {@code shop}. */
    static GaleraCluster start() {
        return start(Collections.nCopies(NODES, GaleraNode.USUAL_CLOCK));
    }

    /**
     * The same, with clocks of their own.
     *
     * @param clocks how the clock of each node differs, as libfaketime writes it: by how much it is ahead, and how much faster it is
     */
    static GaleraCluster start(List<String> clocks) {
        GaleraNode.requirePackages();
        GaleraCluster cluster = new GaleraCluster();
        try {
            String seeds = "";
            for (int node = 0; node < NODES; node++) {
                GaleraNode started = node == 0 ? GaleraNode.first() : GaleraNode.empty();
                cluster.nodes.add(started);
                started.start("gcomm://" + seeds, clocks.get(node));
                seeds = seeds.isEmpty() ? started.groupAddress() : seeds + "," + started.groupAddress();
                if (node > 0) {
                    cluster.awaitSize(node + 1);
                }
            }
            cluster.execute(0, "create database shop");
            await().atMost(SOON)
                    .until(() -> IntStream.range(0, NODES)
                            .allMatch(node -> cluster.queryForLong(
                                            node,
                                            "select count(*) from information_schema.schemata where schema_name = 'shop'")
                                    == 1));
            return cluster;
        } catch (RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    /** What leads to one node. */
    String url(int node) {
        return "jdbc:mariadb://127.0.0.1:" + nodes.get(node).port() + "/shop?user=root";
    }

    /** What leads to the first of these nodes that answers. */
    String urlOfFirst(Integer... inTurn) {
        return "jdbc:mariadb:sequential://"
                + List.of(inTurn).stream()
                        .map(node -> "127.0.0.1:" + nodes.get(node).port())
                        .collect(Collectors.joining(","))
                + "/shop?user=root&connectTimeout=2000&socketTimeout=15000";
    }

    /** Kills a node at once. */
    void kill(int node) {
        nodes.get(node).kill();
    }

    private void awaitSize(int size) {
        await().atMost(SOON).until(() -> nodes.stream().allMatch(node -> size == node.clusterSize()));
    }

    void execute(int node, String... statements) {
        try (Connection connection = nodes.get(node).connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    long queryForLong(int node, String sql) {
        try (Connection connection = nodes.get(node).connect();
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A connection to the database. */
    Connection connect(int node) throws SQLException {
        return DriverManager.getConnection(url(node));
    }

    @Override
    public void close() {
        nodes.forEach(GaleraNode::kill);
    }
}

package io.github.holdfast.clusters;

import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import java.time.Duration;

/** A primary of MariaDB, and a replica that each commit waits for before it is visible to anybody. Not thread-safe. */
final class MariaDbPair implements ReplicatedPair {

    private static final Duration SOON = ofSeconds(30);

    private final MysqlServer primary = server(1);
    private final MysqlServer replica = server(2);

    private MariaDbPair() {}

    private static MysqlServer server(int id) {
        return MysqlServer.ofMariaDb(
                id,
                "--log-bin=binlog",
                "--log-slave-updates",
                "--gtid-strict-mode=ON",
                "--rpl-semi-sync-slave-enabled=ON",
                "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
                // The longest: otherwise it goes on without the replica, as if it was replicated asynchronously.
                "--rpl-semi-sync-master-timeout=4294967295");
    }

    /** Both run. */
    static MariaDbPair start() {
        MariaDbPair pair = new MariaDbPair();
        try {
            pair.primary.start();
            pair.replica.start();
            // First: a replica acknowledges nothing if it was off when that connected.
            pair.primary.execute("set global rpl_semi_sync_master_enabled = 1");
            pair.replica.execute(
                    "set global read_only = 1",
                    "change master to master_host = '127.0.0.1', master_port = " + pair.primary.port()
                            + ", master_user = 'administrator', master_password = 'administrator',"
                            + " master_use_gtid = slave_pos, master_connect_retry = 1, master_ssl = 0",
                    "start slave");
            pair.awaitReplica();
            pair.primary.execute("create database holdfast");
            return pair;
        } catch (RuntimeException e) {
            pair.close();
            throw e;
        }
    }

    MysqlServer replica() {
        return replica;
    }

    /** Waits until commits are acknowledged. */
    private void awaitReplica() {
        await().atMost(SOON)
                .until(() -> primary.query("select variable_value from information_schema.global_status"
                                + " where variable_name = 'Rpl_semi_sync_master_clients'")
                        .equals("1"));
    }

    /**
     * A commit is not cancelled there: nothing else than the end of its connection ends its wait for the acknowledgement. The driver would then look
     * for another host for half a minute, inside the call.
     */
    @Override
    public String url() {
        return "jdbc:mariadb:sequential://" + primary.address() + "," + replica.address()
                + "/holdfast?user=holdfast&password=holdfast&connectTimeout=2000&socketTimeout=5000"
                + "&retriesAllDown=4";
    }

    @Override
    public void loseStandby() {
        replica.kill();
    }

    @Override
    public void bringStandbyBack() {
        replica.start();
        awaitReplica();
    }

    /** What it has received it has applied: it had nothing else to do. */
    @Override
    public void failOver() {
        primary.kill();
        replica.start();
        replica.execute("stop slave", "reset slave all", "set global read_only = 0");
    }

    @Override
    public void close() {
        primary.close();
        replica.close();
    }
}

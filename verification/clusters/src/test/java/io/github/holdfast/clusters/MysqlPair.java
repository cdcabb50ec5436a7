package io.github.holdfast.clusters;

import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import java.time.Duration;

/** A source, and a replica that each commit waits for before it is visible to anybody. Not thread-safe. */
final class MysqlPair implements ReplicatedPair {

    private static final Duration SOON = ofSeconds(30);

    private final MysqlServer source = server(1);
    private final MysqlServer replica = server(2);

    private MysqlPair() {}

    private static MysqlServer server(int id) {
        return new MysqlServer(
                id,
                "--plugin-load-add=semisync_source.so",
                "--plugin-load-add=semisync_replica.so",
                "--rpl-semi-sync-replica-enabled=1",
                "--rpl-semi-sync-source-wait-point=AFTER_SYNC",
                // The longest: otherwise it goes on without the replica, as if it was replicated asynchronously.
                "--rpl-semi-sync-source-timeout=4294967295");
    }

    /** Both run. */
    static MysqlPair start() {
        MysqlPair pair = new MysqlPair();
        try {
            pair.source.start();
            pair.replica.start();
            // First: a replica acknowledges nothing if it was off when that connected.
            pair.source.execute("set global rpl_semi_sync_source_enabled = 1");
            pair.replica.execute(
                    "set global read_only = 1",
                    "change replication source to source_host = '127.0.0.1', source_port = " + pair.source.port()
                            + ", source_user = 'administrator', source_password = 'administrator',"
                            + " source_auto_position = 1, get_source_public_key = 1,"
                            + " source_connect_retry = 1, source_retry_count = 1000",
                    "start replica");
            pair.awaitReplica();
            pair.source.execute("create database holdfast");
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
                .until(() -> source.query("select variable_value from performance_schema.global_status"
                                + " where variable_name = 'Rpl_semi_sync_source_clients'")
                        .equals("1"));
    }

    /** A commit that waits for its acknowledgement heeds nothing but the end of its connection. */
    @Override
    public String url() {
        return "jdbc:mysql://" + source.address() + "," + replica.address()
                + "/holdfast?user=holdfast&password=holdfast&useSSL=false&allowPublicKeyRetrieval=true"
                + "&connectTimeout=2000&socketTimeout=5000&failOverReadOnly=false&logger=Slf4JLogger";
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

    /** After it has applied all that it has received, it waits for nobody. */
    @Override
    public void failOver() {
        source.kill();
        replica.start();
        replica.execute("stop replica io_thread");
        await().atMost(SOON)
                .until(() -> replica.query("select gtid_subset(received_transaction_set, @@global.gtid_executed)"
                                + " from performance_schema.replication_connection_status where channel_name = ''")
                        .equals("1"));
        replica.execute("stop replica", "reset replica all", "set global read_only = 0");
    }

    @Override
    public void close() {
        source.close();
        replica.close();
    }
}

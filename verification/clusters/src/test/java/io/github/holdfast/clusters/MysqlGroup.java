package io.github.holdfast.clusters;

import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.ServerPrograms;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Three servers of MySQL in Group Replication, of which one writes. Not thread-safe. */
final class MysqlGroup implements AutoCloseable {

    private static final Duration SOON = ofSeconds(90);

    private final List<MysqlServer> members;

    private MysqlGroup(List<MysqlServer> members) {
        this.members = members;
    }

    /** All are members; the first one is the primary, and the second one follows if it fails. */
    static MysqlGroup start() {
        UUID name = UUID.randomUUID();
        List<String> addresses = Stream.generate(() -> "127.0.0.1:" + ServerPrograms.freePort())
                .distinct()
                .limit(3)
                .toList();
        MysqlGroup group = new MysqlGroup(IntStream.range(0, 3)
                .mapToObj(i -> new MysqlServer(
                        i + 1,
                        "--plugin-load-add=group_replication.so",
                        "--group-replication-group-name=" + name,
                        "--group-replication-start-on-boot=OFF",
                        "--group-replication-local-address=" + addresses.get(i),
                        "--group-replication-group-seeds=" + String.join(",", addresses),
                        "--group-replication-recovery-get-public-key=ON",
                        "--group-replication-member-weight=" + (90 - 10 * i)))
                .toList());
        try {
            group.form();
            return group;
        } catch (RuntimeException e) {
            group.close();
            throw e;
        }
    }

    private void form() {
        CompletableFuture.allOf(members.stream()
                        .map(member -> CompletableFuture.runAsync(member::start))
                        .toArray(CompletableFuture<?>[]::new))
                .join();
        MysqlServer first = members.get(0);
        first.execute(
                "set global group_replication_bootstrap_group = on",
                "start group_replication",
                "set global group_replication_bootstrap_group = off",
                "create database holdfast");
        for (MysqlServer member : members.subList(1, 3)) {
            member.execute(
                    "change replication source to source_user = 'administrator', source_password = 'administrator'"
                            + " for channel 'group_replication_recovery'",
                    "start group_replication");
        }
        await().atMost(SOON)
                .until(() -> first.query("select count(*) from performance_schema.replication_group_members"
                                + " where member_state = 'ONLINE'")
                        .equals("3"));
    }

    MysqlServer member(int index) {
        return members.get(index);
    }

    /** A planned switch-over, during which all connections stay. */
    void switchOver(MysqlServer from, MysqlServer to) {
        from.execute("select group_replication_set_as_primary('" + to.query("select @@server_uuid") + "')");
    }

    /** Waits until this member may write. */
    void awaitPrimary(MysqlServer member) {
        await().atMost(SOON)
                .until(() -> member.query("select @@super_read_only").equals("0"));
    }

    static String url(String hosts, String options) {
        return "jdbc:mysql://" + hosts
                + "/holdfast?user=holdfast&password=holdfast&useSSL=false&allowPublicKeyRetrieval=true"
                + "&connectTimeout=2000&socketTimeout=20000&logger=Slf4JLogger" + options;
    }

    /** As it stands in a URL: the first one is the one that is asked first. */
    String hosts() {
        return members.stream().map(MysqlServer::address).collect(Collectors.joining(","));
    }

    @Override
    public void close() {
        members.forEach(MysqlServer::close);
    }
}

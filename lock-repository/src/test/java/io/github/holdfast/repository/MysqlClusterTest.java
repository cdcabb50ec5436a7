package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What servers say of themselves; that Galera says so is tried on a real one. */
class MysqlClusterTest {

    private static final String LIBRARY = "/usr/lib/galera/libgalera_smm.so";

    @Test
    void nodeOfGaleraMayBeOneOfSeveralWriters() {
        assertThat(MysqlCluster.of(Map.of("wsrep_on", "ON", "wsrep_provider", LIBRARY)))
                .contains(MysqlCluster.GALERA);
    }

    @Test
    void serverWithoutAGaleraLibraryIsAlone() {
        assertThat(MysqlCluster.of(Map.of("wsrep_on", "OFF", "wsrep_provider", "none")))
                .isEmpty();
        assertThat(MysqlCluster.of(Map.of("wsrep_on", "ON", "wsrep_provider", "none")))
                .isEmpty();
        assertThat(MysqlCluster.of(Map.of("wsrep_on", "OFF", "wsrep_provider", LIBRARY)))
                .isEmpty();
        assertThat(MysqlCluster.of(Map.of())).isEmpty();
    }

    @Test
    void modeOfGroupReplicationTellsHowManyPrimariesThereAre() {
        assertThat(MysqlCluster.of(Map.of("group_replication_single_primary_mode", "OFF")))
                .contains(MysqlCluster.GROUP_REPLICATION);
        assertThat(MysqlCluster.of(Map.of("group_replication_single_primary_mode", "ON")))
                .isEmpty();
    }

    @Test
    void settingsThatDoNotFlushAreNamed() {
        assertThat(MysqlRisks.unflushed(
                        Map.of("innodb_flush_log_at_trx_commit", "1", "sync_binlog", "1", "log_bin", "ON")))
                .isEmpty();
        assertThat(MysqlRisks.unflushed(
                        Map.of("innodb_flush_log_at_trx_commit", "3", "sync_binlog", "0", "log_bin", "OFF")))
                .isEmpty();
        assertThat(MysqlRisks.unflushed(
                        Map.of("innodb_flush_log_at_trx_commit", "2", "sync_binlog", "100", "log_bin", "ON")))
                .containsExactly("innodb_flush_log_at_trx_commit=2", "sync_binlog=100");
    }

    /** In this mode, a backslash escapes nothing. */
    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class WithoutEscapes {

        @Test
        void channelsOfGroupReplicationAreNotThoseOfAReplica(Database database) throws Exception {
            try (Connection connection = database.dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("set sql_mode = 'NO_BACKSLASH_ESCAPES'");
                List<String> channels = new ArrayList<>();
                try (ResultSet rows = statement.executeQuery("select c.channel_name from (select '' channel_name"
                        + " union select 'group_replication_applier' union select 'group_replication_recovery'"
                        + " union select 'group-replication') c where " + MysqlRisks.NOT_OF_THE_GROUP)) {
                    while (rows.next()) {
                        channels.add(rows.getString(1));
                    }
                }
                assertThat(channels).containsExactlyInAnyOrder("", "group-replication");
            }
        }
    }
}

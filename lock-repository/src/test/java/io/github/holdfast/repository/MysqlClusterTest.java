package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
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
}

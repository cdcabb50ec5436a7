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
}

package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** What servers say of themselves; that Galera says so is tried on a real one. */
class ClusterTest {

    private static final String LIBRARY = "/usr/lib/galera/libgalera_smm.so";

    @Test
    void nodeOfGaleraMayBeOneOfSeveralWriters() {
        assertThat(Cluster.of(Map.of("wsrep_on", "ON", "wsrep_provider", LIBRARY)))
                .isEqualTo(Cluster.GALERA);
    }

    @Test
    void serverWithoutAGaleraLibraryIsAlone() {
        assertThat(Cluster.of(Map.of("wsrep_on", "OFF", "wsrep_provider", "none")))
                .isEqualTo(Cluster.NONE);
        assertThat(Cluster.of(Map.of("wsrep_on", "ON", "wsrep_provider", "none")))
                .isEqualTo(Cluster.NONE);
        assertThat(Cluster.of(Map.of("wsrep_on", "OFF", "wsrep_provider", LIBRARY)))
                .isEqualTo(Cluster.NONE);
        assertThat(Cluster.of(Map.of())).isEqualTo(Cluster.NONE);
    }

    @Test
    void modeOfGroupReplicationTellsHowManyPrimariesThereAre() {
        assertThat(Cluster.of(Map.of("group_replication_single_primary_mode", "OFF")))
                .isEqualTo(Cluster.GROUP_REPLICATION);
        assertThat(Cluster.of(Map.of("group_replication_single_primary_mode", "ON")))
                .isEqualTo(Cluster.NONE);
    }

    @Test
    void onlyWhereSeveralServersWriteAreThereSeveralWriters() {
        assertThat(Cluster.values())
                .filteredOn(Cluster::hasSeveralWriters)
                .doesNotContain(Cluster.NONE)
                .hasSize(2);
    }
}

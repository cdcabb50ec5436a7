package io.github.holdfast.clusters;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A server of MySQL or MariaDB that can be written, and applies the changes of another one, is reported. */
@Tag("cluster")
class WritableReplicaTest {

    private static final String WARNING = "applies the changes of another server";

    @Test
    void ofMysql() throws InterruptedException {
        try (MysqlPair pair = MysqlPair.start()) {
            pair.replica().execute("grant select on performance_schema.* to holdfast");
            reports(pair.url(), pair.replica(), "stop replica");
        }
    }

    @Test
    void ofMariaDb() throws InterruptedException {
        try (MariaDbPair pair = MariaDbPair.start()) {
            reports(pair.url(), pair.replica(), "stop slave");
        }
    }

    private static void reports(String primary, MysqlServer replica, String stop) throws InterruptedException {
        assertThat(logOf(primary)).doesNotContain(WARNING);

        replica.execute("set global read_only = 0");
        assertThat(logOf(replica.url())).contains(WARNING, "holdfast.accept=writable-replica");

        replica.execute(stop);
        assertThat(logOf(replica.url())).doesNotContain(WARNING);
    }

    private static String logOf(String url) throws InterruptedException {
        return Warnings.during(() -> Application.on(url, builder -> builder).close())
                .toString();
    }
}

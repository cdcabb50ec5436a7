package io.github.holdfast.test;

import java.util.List;

/** Whether a server of this JVM waits for the disk at a commit. In both cases, commits survive a kill of the server process. */
enum Durability {
    WAITS_FOR_DISK,
    FAST;

    static Durability current() {
        return Boolean.getBoolean("holdfast.test.durable") ? WAITS_FOR_DISK : FAST;
    }

    /** Returns the value of PostgreSQL's setting. */
    String fsync() {
        return this == WAITS_FOR_DISK ? "on" : "off";
    }

    /** Returns the options of MySQL and MariaDB. */
    List<String> mysqldOptions() {
        return this == WAITS_FOR_DISK
                ? List.of("--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1")
                : List.of("--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--sync-binlog=0");
    }
}

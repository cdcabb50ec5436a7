package io.github.holdfast.sharding;

import static java.time.Duration.ofSeconds;

import io.github.holdfast.service.LockService;
import io.github.holdfast.sharding.Nodes.Shard;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** Two nodes that use the same two shards, {@code a} and {@code b}, on different kinds of database. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class TwoShards {

    static final Duration SOON = ofSeconds(60);

    final Nodes nodes = new Nodes();
    final ExecutorService threads = Executors.newCachedThreadPool();
    Shard a;
    Shard b;
    Shard othersA;
    Shard othersB;

    /** The database of {@link #b}. */
    Database databaseOfB;

    abstract TestDatabase second();

    @BeforeAll
    void openShards(Database first) {
        Nodes.withTables(first);
        databaseOfB = nodes.database(second());
        a = nodes.open(first);
        b = nodes.open(databaseOfB);
        othersA = nodes.open(first);
        othersB = nodes.open(databaseOfB);
    }

    @AfterAll
    void closeShards() throws Exception {
        threads.shutdownNow();
        nodes.close();
    }

    Map<String, LockService> mine() {
        return Map.of("a", a.locks(), "b", b.locks());
    }

    Map<String, LockService> others() {
        return Map.of("a", othersA.locks(), "b", othersB.locks());
    }

    <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }
}

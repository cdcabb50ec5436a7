package io.github.holdfast.benchmark.contestant;

import io.github.holdfast.lock.LockMode;
import io.github.holdfast.test.ServerPrograms;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.Version;

/** Curator's read/write lock, on one ZooKeeper server that waits for the disk. The server runs in this process. */
public final class CuratorReadWrite implements ReadWrite {

    private final CuratorFramework client;
    private final InterProcessReadWriteLock lock;

    private CuratorReadWrite(TestingServer server) {
        client = CuratorFrameworkFactory.newClient(server.getConnectString(), new ExponentialBackoffRetry(1000, 3));
        client.start();
        lock = new InterProcessReadWriteLock(client, "/shared");
    }

    /** Starts a ZooKeeper server, and opens services on it. */
    public static ReadWriteServices start(int services) throws Exception {
        TestingServer server = server();
        return ReadWriteServices.on(
                server,
                "Curator 5.9.0, ZooKeeper " + Version.getVersion(),
                services,
                () -> new CuratorReadWrite(server));
    }

    public static TestingServer server() throws Exception {
        // The numbers below zero stand for defaults.
        InstanceSpec settings = new InstanceSpec(
                ServerPrograms.newDirectory().toFile(),
                ServerPrograms.freePort(),
                -1,
                -1,
                true,
                -1,
                -1,
                -1,
                Map.of("clientPortAddress", "127.0.0.1"));
        return new TestingServer(settings, true);
    }

    @Override
    public Optional<Contestant.Held> acquire(LockMode mode, Duration atMost) throws Exception {
        InterProcessMutex own = mode == LockMode.SHARED ? lock.readLock() : lock.writeLock();
        return own.acquire(atMost.toMillis(), TimeUnit.MILLISECONDS) ? Optional.of(own::release) : Optional.empty();
    }

    @Override
    public void close() {
        client.close();
    }
}

package io.github.holdfast.benchmark.contestant;

import io.github.holdfast.lock.LockMode;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's read/write lock, with the default settings of the client and of Redis. */
public final class RedissonReadWrite implements ReadWrite {

    private final RedissonClient client;
    private final RReadWriteLock lock;

    private RedissonReadWrite(RedisServer server) {
        Config config = new Config();
        config.useSingleServer().setAddress(server.url());
        client = Redisson.create(config);
        lock = client.getReadWriteLock("shared");
    }

    /** Starts a Redis server, and opens services on it. */
    public static ReadWriteServices start(int services) throws Exception {
        RedisServer server = RedisServer.start();
        return ReadWriteServices.on(
                server, "Redisson 4.7.0, Redis " + server.version(), services, () -> new RedissonReadWrite(server));
    }

    @Override
    public Optional<Contestant.Held> acquire(LockMode mode, Duration atMost) throws InterruptedException {
        RLock own = mode == LockMode.SHARED ? lock.readLock() : lock.writeLock();
        return own.tryLock(atMost.toMillis(), TimeUnit.MILLISECONDS) ? Optional.of(own::unlock) : Optional.empty();
    }

    @Override
    public void close() {
        client.shutdown();
    }
}

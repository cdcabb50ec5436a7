package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three clients hand a lock over on five databases of four kinds, while random members are away. A checker sees each holder and each
 * token. {@code -Dholdfast.quorum.handovers=1000} makes it longer.
 */
@Tag("outage")
class HandOverTest {

    private static final int HAND_OVERS = Integer.getInteger("holdfast.quorum.handovers", 60);
    private static final Duration LONG = Duration.ofSeconds(60);

    /** What happens to a member. */
    private enum Trouble {
        FROZEN,
        REFUSING,
        CUT
    }

    @Test
    void neverTwoHoldersAndTokensThatOnlyGrow() throws Exception {
        List<AutoCloseable> opened = new ArrayList<>();
        AtomicBoolean isOver = new AtomicBoolean();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<Database> databases = Stream.of(
                            TestDatabase.POSTGRESQL,
                            TestDatabase.MYSQL,
                            TestDatabase.MARIADB,
                            TestDatabase.H2_TCP,
                            TestDatabase.H2_TCP)
                    .map(Database::create)
                    .toList();
            opened.addAll(databases);
            List<Proxy> proxies =
                    databases.stream().map(database -> Proxy.to(database.url())).toList();
            opened.addAll(0, proxies);
            List<String> urls = proxies.stream().map(Proxy::url).toList();
            Checker checker = new Checker();
            List<Client> clients = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Client client = Client.at(urls, databases, Duration.ofMillis(500));
                opened.add(0, client);
                clients.add(client);
            }
            AtomicInteger disturbed = new AtomicInteger();
            Future<?> trouble = threads.submit(() -> disturb(proxies, isOver, disturbed));
            List<Future<?>> work = new ArrayList<>();
            for (Client client : clients) {
                work.add(threads.submit(() -> work(client, checker)));
            }
            for (Future<?> one : work) {
                one.get(HAND_OVERS * 2L + 120, TimeUnit.SECONDS);
            }
            isOver.set(true);
            trouble.get(LONG.toSeconds(), TimeUnit.SECONDS);
            checker.check();
            assertThat(disturbed).hasPositiveValue();
            System.out.printf(
                    "%d hand-overs, %d of them to another client, %d majorities, members away %d times, %d attempts failed%n",
                    checker.handOvers.get(),
                    checker.changes,
                    checker.majorities,
                    disturbed.get(),
                    checker.failures.get());
        } finally {
            isOver.set(true);
            threads.shutdownNow();
            for (AutoCloseable one : opened) {
                one.close();
            }
        }
    }

    private static void work(Client client, Checker checker) {
        while (checker.handOvers.get() < HAND_OVERS) {
            try (LockHandle lock =
                    client.locks().acquire(LockRequest.of("baton").waitAtMost(LONG))) {
                checker.enter(client, lock);
                pause(10);
                checker.leave(client, lock);
            } catch (LockNotAcquiredException | LockStoreException | LockLostException tooMuchTrouble) {
                checker.failures.incrementAndGet();
            } catch (InterruptedException ended) {
                return;
            }
            pause(150); // So that the others have a turn.
        }
    }

    private static void pause(int mostMillis) {
        LockSupport.parkNanos(
                TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextInt(mostMillis)));
    }

    /** Keeps up to two members away, others in turn. */
    private static void disturb(List<Proxy> proxies, AtomicBoolean isOver, AtomicInteger times) {
        Random random = new Random(27);
        while (!isOver.get()) {
            List<Proxy> away = random.ints(0, proxies.size())
                    .distinct()
                    .limit(1 + random.nextInt(2))
                    .mapToObj(proxies::get)
                    .toList();
            for (Proxy proxy : away) {
                times.incrementAndGet();
                switch (Trouble.values()[random.nextInt(Trouble.values().length)]) {
                    case FROZEN -> proxy.set(Proxy.Mode.BLACK_HOLE);
                    case REFUSING -> {
                        proxy.set(Proxy.Mode.REFUSE);
                        proxy.cut();
                    }
                    case CUT -> proxy.cut();
                }
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100 + random.nextInt(600)));
            for (Proxy proxy : away) {
                proxy.set(Proxy.Mode.PASS);
                proxy.cut(); // What a frozen connection has swallowed does not come back.
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(200)));
        }
    }

    /** Sees the holders. It believes only those that are held when they enter and when they leave. */
    private static final class Checker {

        private final AtomicInteger handOvers = new AtomicInteger();
        private final AtomicInteger failures = new AtomicInteger();
        private final List<String> errors = new ArrayList<>();
        private @Nullable Client holder;
        private @Nullable LockHandle held;
        private @Nullable Client last;
        private @Nullable QuorumToken seen;
        private @Nullable QuorumToken lastToken;
        private int changes;
        private int majorities;

        synchronized void enter(Client client, LockHandle lock) {
            if (lock.state() == LockState.LOST) {
                return;
            }
            if (holder != null && held != null && held.state() != LockState.LOST) {
                errors.add("two holders: " + held + " and " + lock);
            }
            QuorumToken token = QuorumToken.of(lock);
            if (token.isOlderThan(seen)) {
                errors.add(token + " after " + seen);
            }
            if (lastToken != null && !lastToken.isOlderThan(token)) {
                errors.add(lastToken + " is not before " + token);
            }
            if (lastToken != null && !members(lastToken).equals(members(token))) {
                majorities++;
            }
            if (last != client) {
                changes++;
            }
            holder = client;
            held = lock;
            last = client;
            lastToken = token;
            seen = token.mergedWith(seen);
            handOvers.incrementAndGet();
        }

        private static List<Boolean> members(QuorumToken token) {
            return token.ofMembers().stream().map(number -> number.isPresent()).toList();
        }

        synchronized void leave(Client client, LockHandle lock) {
            if (lock.state() != LockState.LOST && holder != client) {
                errors.add("somebody came in before " + lock + " left");
            }
            if (holder == client) {
                holder = null;
                held = null;
            }
        }

        synchronized void check() {
            assertThat(errors).isEmpty();
            assertThat(handOvers.get()).isGreaterThanOrEqualTo(HAND_OVERS);
            assertThat(changes).as("hand-overs to another client").isGreaterThan(HAND_OVERS / 4);
            assertThat(majorities).as("another majority than before").isGreaterThan(HAND_OVERS / 10);
        }
    }
}

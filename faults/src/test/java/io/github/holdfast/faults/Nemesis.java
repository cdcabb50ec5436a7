package io.github.holdfast.faults;

import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.test.RestartableDatabase;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Does to the workers and the server what its seed says, one thing after another, and records it. */
final class Nemesis {

    /** What it does. */
    private enum Fault {
        KILL(true),
        PAUSE(false),
        CUT(false),
        BLACK_HOLE(false),
        DELAY(false),
        DROP_COMMIT_REPLY(false),
        INTERRUPT(false),
        SET_WALL_CLOCK(false),
        KILL_SESSIONS(false),
        SIT_ON_ROWS(false),
        TAKE_ALL_CONNECTIONS(false),
        DELETE_ROWS(false),
        FORCE_RELEASE(false),
        CLOSE(true),
        RESTART_SERVER(true);

        /** Whether it takes seconds until everything runs again: then it is done less often. */
        private final boolean isCostly;

        Fault(boolean isCostly) {
            this.isCostly = isCostly;
        }
    }

    private static final Duration FARTHEST = Duration.ofHours(2);

    private final RestartableDatabase server;
    private final Sessions sessions;
    private final Fleet fleet;
    private final LockAdmin admin;
    private final Recorder recorder;
    private final Random random;

    Nemesis(RestartableDatabase server, Fleet fleet, LockAdmin admin, Recorder recorder, long seed) {
        this.server = server;
        this.sessions = new Sessions(server.database());
        this.fleet = fleet;
        this.admin = admin;
        this.recorder = recorder;
        this.random = new Random(seed);
    }

    void rageUntil(long end) {
        Fault[] faults = Fault.values();
        while (System.nanoTime() - end < 0) {
            rest(100, 600);
            Fault fault = faults[random.nextInt(faults.length)];
            if (!fault.isCostly || random.nextInt(3) == 0) {
                cause(fault);
            }
        }
    }

    private void rest(int atLeastMillis, int atMostMillis) {
        LockSupport.parkNanos(
                TimeUnit.MILLISECONDS.toNanos(atLeastMillis + (long) random.nextInt(atMostMillis - atLeastMillis)));
    }

    private void cause(Fault fault) {
        int worker = random.nextInt(Fleet.SIZE);
        String name = Client.name(random.nextInt(Client.NAMES));
        switch (fault) {
            case KILL -> fleet.replace(worker, recorder);
            case PAUSE ->
                record(fault, () -> {
                    fleet.worker(worker).pause();
                    int lease = (int) Fleet.NODE_LEASE.toMillis();
                    rest(lease / 10, lease * 3);
                    fleet.worker(worker).resume();
                });
            case CUT -> record(fault, () -> fleet.proxy(worker).cut());
            case BLACK_HOLE -> record(fault, () -> pass(worker, Proxy.Mode.BLACK_HOLE));
            case DELAY -> record(fault, () -> pass(worker, Proxy.Mode.DELAY));
            case DROP_COMMIT_REPLY -> record(fault, () -> pass(worker, Proxy.Mode.DROP_COMMIT_REPLY));
            case KILL_SESSIONS -> record(fault, () -> sessions.kill(id -> random.nextBoolean()));
            case SIT_ON_ROWS -> record(fault, () -> sessions.sitOnRows(() -> rest(100, 1500)));
            case INTERRUPT -> record(fault, () -> interrupt(worker));
            case SET_WALL_CLOCK -> record(fault, () -> fleet.setClock(someTimeAhead()));
            case TAKE_ALL_CONNECTIONS ->
                record(
                        fault,
                        () -> sessions.takeAll(() -> {
                            // Whoever has a connection does not need another one.
                            fleet.proxy(worker).cut();
                            rest(200, 1500);
                        }));
            case CLOSE -> record(fault, () -> fleet.shutDown(worker));
            case DELETE_ROWS ->
                record(
                        Action.DELETE_ROWS,
                        Facts.of(name),
                        () -> server.database().execute("delete from distributed_lock where name = '" + name + "'"));
            case FORCE_RELEASE ->
                record(Action.FORCE_RELEASE, Facts.of(name), () -> {
                    var unused = admin.forceRelease(name, "nemesis");
                });
            case RESTART_SERVER ->
                record(fault, () -> {
                    server.kill();
                    rest(100, 500);
                    server.restart();
                });
        }
    }

    private void interrupt(int worker) {
        for (int i = 1 + random.nextInt(10); i > 0; i--) {
            fleet.worker(worker).send("interrupt");
            rest(1, 100);
        }
    }

    /** Ahead or behind. */
    private Duration someTimeAhead() {
        return Duration.ofSeconds(random.nextInt((int) FARTHEST.toSeconds())).minus(FARTHEST.dividedBy(2));
    }

    /** What was swallowed is missing from the connections, so they end with it. */
    private void pass(int worker, Proxy.Mode mode) {
        fleet.proxy(worker).set(mode);
        rest(200, 2000);
        fleet.proxy(worker).set(Proxy.Mode.PASS);
        if (mode == Proxy.Mode.BLACK_HOLE) {
            fleet.proxy(worker).cut();
        }
    }

    private interface Deed {
        void run() throws SQLException, InterruptedException;
    }

    private void record(Fault fault, Deed deed) {
        record(Action.FAULT, Facts.of(Facts.ALL).owner(fault.name()), deed);
    }

    private void record(Action action, Facts facts, Deed deed) {
        long operation = recorder.begin(action, facts);
        try {
            deed.run();
            recorder.end(operation, action, Phase.OK, facts);
        } catch (InterruptedException unexpected) {
            throw new IllegalStateException(unexpected);
        } catch (SQLException | RuntimeException failed) {
            // A fault may come in the way of another one; it may have happened all the same.
            recorder.end(operation, action, Phase.UNKNOWN, facts);
        }
    }
}

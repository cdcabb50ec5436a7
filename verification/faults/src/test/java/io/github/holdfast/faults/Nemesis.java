package io.github.holdfast.faults;

import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.test.Proxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
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
        CLOSE(false),
        SET_CLOCK(false),
        RESTART_SERVER(true);

        /** Whether it takes seconds until everything runs again: then it is done less often. */
        private final boolean isCostly;

        Fault(boolean isCostly) {
            this.isCostly = isCostly;
        }
    }

    /** H2 has no limit of connections, and its protocol has no COMMIT to be seen. */
    private static final Set<Fault> NOT_ON_H2 = EnumSet.of(Fault.DROP_COMMIT_REPLY, Fault.TAKE_ALL_CONNECTIONS);

    private static final Duration FARTHEST = Duration.ofHours(2);
    private static final Duration STEP = Duration.ofSeconds(30);

    private final Server server;
    private final Sessions sessions;
    private final Fleet fleet;
    private final LockAdmin admin;
    private final Recorder recorder;
    private final Random random;

    Nemesis(Server server, Fleet fleet, LockAdmin admin, Recorder recorder, long seed) {
        this.server = server;
        this.sessions = new Sessions(server);
        this.fleet = fleet;
        this.admin = admin;
        this.recorder = recorder;
        this.random = new Random(seed);
    }

    void rageUntil(long end) {
        Set<Fault> possible = EnumSet.allOf(Fault.class);
        if (server.kind().isH2()) {
            possible.removeAll(NOT_ON_H2);
        }
        List<Fault> faults = List.copyOf(possible);
        while (System.nanoTime() - end < 0) {
            rest(100, 600);
            Fault fault = faults.get(random.nextInt(faults.size()));
            if (!fault.isCostly || random.nextInt(3) == 0) {
                cause(fault);
            }
        }
        // What was granted when the clock was ahead lasts for longer when it is not.
        if (!server.ahead().equals(server.farthestAhead())) {
            setClock(server.farthestAhead());
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
            case KILL -> kill(worker);
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
            case SET_CLOCK -> setClock(server.ahead().isZero() ? someStep() : Duration.ZERO);
            case DELETE_ROWS -> record(Action.DELETE_ROWS, Facts.of(name), () -> deleteRow(name));
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

    private Duration someStep() {
        return random.nextBoolean() ? STEP : STEP.negated();
    }

    /** Until all sessions have noticed, one of them is ahead of another, in whichever direction it is set. */
    private void setClock(Duration ahead) {
        record(Action.SET_CLOCK_FORWARD, Facts.of(Facts.ALL).owner(ahead.toString()), () -> server.setClock(ahead));
    }

    /** Not while the clock is behind: a token of the new row could be one that there was. */
    private void deleteRow(String name) throws SQLException {
        if (server.ahead().equals(server.farthestAhead())) {
            server.execute("delete from distributed_lock where name = '" + name + "'");
        }
    }

    private void kill(int worker) {
        try {
            fleet.replace(worker, recorder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
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
        void run() throws SQLException, IOException, InterruptedException;
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
        } catch (SQLException | IOException | RuntimeException failed) {
            // A fault may come in the way of another one; it may have happened all the same.
            recorder.end(operation, action, Phase.UNKNOWN, facts);
        }
    }
}

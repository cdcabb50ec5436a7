package io.github.holdfast.clusters;

import java.util.function.Consumer;

/** A primary, and a standby that each commit waits for. Not thread-safe. */
final class PostgresPair implements ReplicatedPair {

    private final PostgresServer primary;
    private final PostgresServer standby;

    private PostgresPair(PostgresServer primary, PostgresServer standby) {
        this.primary = primary;
        this.standby = standby;
    }

    /** Both run. */
    static PostgresPair start() {
        return start(PostgresServer::start);
    }

    /** Both run, the standby with a clock that differs as libfaketime writes it. */
    static PostgresPair start(String clock) {
        return start(standby -> standby.start(clock));
    }

    private static PostgresPair start(Consumer<PostgresServer> standbyStart) {
        PostgresServer primary = PostgresServer.create();
        PostgresPair pair = new PostgresPair(primary, primary.copy());
        try {
            primary.waitForStandby();
            primary.start();
            standbyStart.accept(pair.standby);
            // Is answered when the standby has it.
            primary.execute("create table answered (nothing integer)");
            return pair;
        } catch (RuntimeException e) {
            pair.close();
            throw e;
        }
    }

    PostgresServer primary() {
        return primary;
    }

    PostgresServer standby() {
        return standby;
    }

    @Override
    public String url() {
        return "jdbc:postgresql://" + primary.address() + "," + standby.address()
                + "/postgres?user=postgres&targetServerType=primary&connectTimeout=2";
    }

    @Override
    public void loseStandby() {
        standby.kill();
    }

    @Override
    public void bringStandbyBack() {
        standby.start();
    }

    @Override
    public void failOver() {
        primary.kill();
        standby.start();
        standby.promote();
    }

    @Override
    public void close() {
        primary.close();
        standby.close();
    }
}

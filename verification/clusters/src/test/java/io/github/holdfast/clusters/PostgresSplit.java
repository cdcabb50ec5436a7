package io.github.holdfast.clusters;

/** PostgreSQL whose primary nobody ends when its standby is promoted: it goes on alone, and its commits wait for ever. */
final class PostgresSplit implements ReplicatedPair {

    private final PostgresPair servers = PostgresPair.start();
    private String url = servers.url();

    /** After the failover, what leads to the new primary. Who had connections before keeps them. */
    @Override
    public String url() {
        return url;
    }

    @Override
    public void loseStandby() {
        servers.loseStandby();
    }

    @Override
    public void bringStandbyBack() {
        servers.bringStandbyBack();
    }

    @Override
    public void failOver() {
        servers.standby().isolate();
        servers.standby().start();
        servers.standby().promote();
        url = servers.standby().url();
    }

    @Override
    public void close() {
        servers.close();
    }
}

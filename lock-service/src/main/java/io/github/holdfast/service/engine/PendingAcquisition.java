package io.github.holdfast.service.engine;

import io.github.holdfast.lock.WaiterInfo;
import java.time.Duration;

/** An acquisition under way. Two acquisitions are never equal: threads may share an owner, and virtual threads a name. */
final class PendingAcquisition {

    /** Matches no owner: an owner is never empty. */
    static final String NOBODY = "";

    private final String name;
    private final String owner;
    private final String holder;
    private final Ticker ticker;
    private final long since;

    /** @param holder a readable description of the holder */
    PendingAcquisition(String name, String owner, String holder, Ticker ticker) {
        this.name = name;
        this.owner = owner;
        this.holder = holder;
        this.ticker = ticker;
        this.since = ticker.nanoTime();
    }

    String name() {
        return name;
    }

    String owner() {
        return owner;
    }

    WaiterInfo info() {
        return new WaiterInfo(name, holder, Duration.ofNanos(ticker.nanoTime() - since));
    }
}

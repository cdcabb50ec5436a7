package io.github.holdfast.service;

import java.time.Duration;

/** An acquisition under way. Two are never equal: threads may share an owner, and virtual ones a name. */
final class Pending {

    private final String name;
    private final String owner;
    private final String holder;
    private final Ticker ticker;
    private final long since;

    /** @param holder who that is, for people */
    Pending(String name, String owner, String holder, Ticker ticker) {
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

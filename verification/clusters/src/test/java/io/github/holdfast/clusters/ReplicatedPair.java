package io.github.holdfast.clusters;

/** A server, and another one that each commit waits for. Both run at first. Not thread-safe. */
interface ReplicatedPair extends AutoCloseable {

    /** Leads to whichever of both writes. */
    String url();

    /** Ends the other one at once. */
    void loseStandby();

    /** Starts it again. Commits that wait for it are answered soon. */
    void bringStandbyBack();

    /** Ends the first one at once, and has the other one write in its place. */
    void failOver();

    @Override
    void close();
}

package io.github.holdfast.service.engine;

/** The heartbeat's view of the holds through its node. Thread-safe. */
interface NodeHolds {

    /** Returns how many reconciliations have begun. Each compares the node's rows with the holds. */
    long reconciliations();

    /** Reconciles soon, on another thread. */
    void reconcileLater(Node node);

    /**
     * Reconciles now.
     *
     * @throws io.github.holdfast.repository.StoreException if the database failed, or a reconciliation is under way already
     */
    void reconcile(Node node);

    /**
     * Finds the valid holds of a node that is about to be ended.
     *
     * @return an action that reports all of them as lost
     */
    Runnable lossOf(Node node);
}

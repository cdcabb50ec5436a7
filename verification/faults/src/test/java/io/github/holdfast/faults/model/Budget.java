package io.github.holdfast.faults.model;

/**
 * How often what would go on for ever, or is a fault, may still happen.
 *
 * @param losses how many answers are lost
 * @param cancellations how many writes are cancelled while they wait for the standby
 * @param nodeChanges how many rows of nodes are ended or deleted by hand
 */
record Budget(
        int acquisitions,
        int losses,
        int crashes,
        int forcedReleases,
        int purges,
        int cancellations,
        int failovers,
        int nodeChanges) {

    static Budget ofAcquisitions(int acquisitions) {
        return new Budget(acquisitions, 0, 0, 0, 0, 0, 0, 0);
    }

    Budget losses(int lostAnswers) {
        return new Budget(
                acquisitions, lostAnswers, crashes, forcedReleases, purges, cancellations, failovers, nodeChanges);
    }

    Budget crashes(int crashed) {
        return new Budget(acquisitions, losses, crashed, forcedReleases, purges, cancellations, failovers, nodeChanges);
    }

    Budget forcedReleases(int forced) {
        return new Budget(acquisitions, losses, crashes, forced, purges, cancellations, failovers, nodeChanges);
    }

    Budget purges(int purged) {
        return new Budget(acquisitions, losses, crashes, forcedReleases, purged, cancellations, failovers, nodeChanges);
    }

    Budget cancellations(int cancelled) {
        return new Budget(acquisitions, losses, crashes, forcedReleases, purges, cancelled, failovers, nodeChanges);
    }

    Budget failovers(int failedOver) {
        return new Budget(
                acquisitions, losses, crashes, forcedReleases, purges, cancellations, failedOver, nodeChanges);
    }

    Budget nodeChanges(int changed) {
        return new Budget(acquisitions, losses, crashes, forcedReleases, purges, cancellations, failovers, changed);
    }

    Budget lessAcquisition() {
        return new Budget(
                acquisitions - 1, losses, crashes, forcedReleases, purges, cancellations, failovers, nodeChanges);
    }

    Budget lessLoss() {
        return losses(losses - 1);
    }

    Budget lessCrash() {
        return crashes(crashes - 1);
    }

    Budget lessForcedRelease() {
        return forcedReleases(forcedReleases - 1);
    }

    Budget lessPurge() {
        return purges(purges - 1);
    }

    Budget lessCancellation() {
        return cancellations(cancellations - 1);
    }

    Budget lessFailover() {
        return failovers(failovers - 1);
    }

    Budget lessNodeChange() {
        return nodeChanges(nodeChanges - 1);
    }
}

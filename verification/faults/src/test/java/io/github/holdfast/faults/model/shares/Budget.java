package io.github.holdfast.faults.model.shares;

/**
 * How often what would go on for ever, or is a fault, may still happen.
 *
 * @param losses how many answers are lost
 * @param lags how often a second server falls behind
 * @param cancellations how many writes are cancelled while they wait for the standby
 */
record Budget(
        int acquisitions,
        int renewals,
        int losses,
        int crashes,
        int lags,
        int cancellations,
        int failovers,
        int downgrades) {

    static Budget ofAcquisitions(int acquisitions) {
        return new Budget(acquisitions, 0, 0, 0, 0, 0, 0, 0);
    }

    Budget renewals(int number) {
        return new Budget(acquisitions, number, losses, crashes, lags, cancellations, failovers, downgrades);
    }

    Budget losses(int number) {
        return new Budget(acquisitions, renewals, number, crashes, lags, cancellations, failovers, downgrades);
    }

    Budget crashes(int number) {
        return new Budget(acquisitions, renewals, losses, number, lags, cancellations, failovers, downgrades);
    }

    Budget lags(int number) {
        return new Budget(acquisitions, renewals, losses, crashes, number, cancellations, failovers, downgrades);
    }

    Budget cancellations(int number) {
        return new Budget(acquisitions, renewals, losses, crashes, lags, number, failovers, downgrades);
    }

    Budget failovers(int number) {
        return new Budget(acquisitions, renewals, losses, crashes, lags, cancellations, number, downgrades);
    }

    Budget lessAcquisition() {
        return new Budget(acquisitions - 1, renewals, losses, crashes, lags, cancellations, failovers, downgrades);
    }

    Budget downgrades(int number) {
        return new Budget(acquisitions, renewals, losses, crashes, lags, cancellations, failovers, number);
    }

    Budget lessDowngrade() {
        return downgrades(downgrades - 1);
    }
}

package io.github.holdfast.faults.model;

/** How often what would go on for ever, or is a fault, may still happen. */
record Budget(int acquisitions, int losses, int crashes, int forcedReleases, int purges) {

    static Budget ofAcquisitions(int acquisitions) {
        return new Budget(acquisitions, 0, 0, 0, 0);
    }

    Budget losses(int lostAnswers) {
        return new Budget(acquisitions, lostAnswers, crashes, forcedReleases, purges);
    }

    Budget crashes(int crashed) {
        return new Budget(acquisitions, losses, crashed, forcedReleases, purges);
    }

    Budget forcedReleases(int forced) {
        return new Budget(acquisitions, losses, crashes, forced, purges);
    }

    Budget purges(int purged) {
        return new Budget(acquisitions, losses, crashes, forcedReleases, purged);
    }

    Budget lessAcquisition() {
        return new Budget(acquisitions - 1, losses, crashes, forcedReleases, purges);
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
}

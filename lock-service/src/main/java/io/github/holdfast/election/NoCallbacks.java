package io.github.holdfast.election;

/** For an election that nobody wants to hear of: others ask it. */
final class NoCallbacks implements LeaderCallbacks {

    @Override
    public void onGranted(Leadership leadership) {}

    @Override
    public void onRevoked(Leadership leadership, RevocationCause cause) {}
}

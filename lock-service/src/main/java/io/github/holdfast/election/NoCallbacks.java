package io.github.holdfast.election;

/** For an election without callbacks: other code polls it. */
final class NoCallbacks implements LeaderCallbacks {

    @Override
    public void onGranted(Leadership leadership) {}

    @Override
    public void onRevoked(Leadership leadership, RevocationCause cause) {}
}

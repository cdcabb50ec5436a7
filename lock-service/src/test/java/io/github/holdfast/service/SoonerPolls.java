package io.github.holdfast.service;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * Has tests look at once for what they await, and then after 2 ms, 4 ms and so on up to 100. Awaitility's own 100 ms before each look
 * were most of the time of many a test. They give up after a minute: for Awaitility's own 10 s, a busy machine may stand still.
 */
public final class SoonerPolls implements LauncherSessionListener {

    private static final int LONGEST = 100;

    /** For the launcher, which finds this class through {@code META-INF/services}. */
    public SoonerPolls() {}

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(Duration.ofSeconds(60));
        Awaitility.setDefaultPollDelay(Duration.ZERO);
        Awaitility.setDefaultPollInterval(
                (count, previous) -> Duration.ofMillis(Math.min(LONGEST, previous.toMillis() * 2 + 2)));
    }
}

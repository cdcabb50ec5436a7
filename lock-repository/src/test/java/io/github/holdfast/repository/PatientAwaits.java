package io.github.holdfast.repository;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/** Has tests give up only after a minute what they await. For Awaitility's own 10 s, a busy machine may stand still. */
public final class PatientAwaits implements LauncherSessionListener {

    /** For the launcher, which finds this class through {@code META-INF/services}. */
    public PatientAwaits() {}

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(Duration.ofSeconds(60));
    }
}

package org.springframework.samples.holdfast;

import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.ScheduledLock;

/** In the package that the samples of Spring are written in. */
public class Kennel {

    /** For subclasses elsewhere, too. */
    public Kennel() {}

    @Locked("kennel")
    public void open() {}

    @ScheduledLock(name = "kennel", every = "1d")
    public void clean() {}

    /** Of no use to anybody: an interface that says what the class does not. */
    public interface Door {

        /** Opens it. */
        void open();
    }

    /** What is said on the class, a proxy of the interface does not know. */
    public static class Gate implements Door {

        /** Anywhere. */
        public Gate() {}

        @Override
        @Locked("gate")
        @ScheduledLock(name = "gate", every = "1d")
        public void open() {}
    }

    /** Whose subclass in another package does not override what only this package sees. */
    public static class Cage {

        /** For subclasses elsewhere. */
        public Cage() {}

        @Locked("cage")
        @ScheduledLock(name = "cage", every = "1d")
        void open() {}
    }
}

package io.github.holdfast.service.engine.runtime;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNames;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.UUID;
import java.util.function.Supplier;

/** Identifies an acquirer by a readable description and a unique owner. Thread-safe. */
public final class ProcessIdentity {

    private final String process;
    private final Supplier<String> owners;

    public ProcessIdentity(String application) {
        // Nothing that an image of the process contains: its copies would go on alike.
        this(application, () -> UUID.randomUUID().toString());
    }

    /**
     * The identity of a process.
     *
     * @param owners returns a new owner each time
     */
    public ProcessIdentity(String application, Supplier<String> owners) {
        this.owners = owners;
        String pidAtHost = ProcessHandle.current().pid() + "@" + host();
        String description = application.isEmpty() ? pidAtHost : application + ":" + pidAtHost;
        process = LockEntity.shortened(LockNames.storable(description));
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unnamed) {
            return "localhost";
        }
    }

    /** Returns a new owner. */
    public String newOwner() {
        return owners.get();
    }

    /** Returns the description of this process. */
    public String process() {
        return process;
    }

    /** Returns the description of the current thread. */
    public String current() {
        String thread = LockNames.storable(Thread.currentThread().getName());
        return LockEntity.shortened(process + "/" + thread);
    }
}

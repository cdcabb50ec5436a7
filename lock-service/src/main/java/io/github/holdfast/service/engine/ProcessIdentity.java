package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNames;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/** Says who acquires a lock: in readable form, and as an owner that nobody else is. Thread-safe. */
final class ProcessIdentity {

    private final String process;
    private final String ownerPrefix = UUID.randomUUID() + ":";
    private final AtomicLong owners = new AtomicLong();

    ProcessIdentity(String application) {
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
    String newOwner() {
        return ownerPrefix + owners.incrementAndGet();
    }

    /** Returns the description of this process. */
    String process() {
        return process;
    }

    /** Returns the description of the current thread. */
    String current() {
        String thread = LockNames.storable(Thread.currentThread().getName());
        return LockEntity.shortened(process + "/" + thread);
    }
}

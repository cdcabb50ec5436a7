package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNames;
import java.net.InetAddress;
import java.net.UnknownHostException;

/** Describes in readable form who acquires a lock: application, process, host and thread. */
final class ProcessIdentity {

    private final String process;

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

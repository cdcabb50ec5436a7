package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import java.net.InetAddress;
import java.net.UnknownHostException;

/** Says for people who acquires: application, process, host and thread. */
final class Holders {

    private final String process;

    Holders(String application) {
        String pidAtHost = ProcessHandle.current().pid() + "@" + host();
        String description = application.isEmpty() ? pidAtHost : application + ":" + pidAtHost;
        process = LockEntity.shortened(Names.storable(description));
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unnamed) {
            return "localhost";
        }
    }

    /** Returns who this process is. */
    String process() {
        return process;
    }

    /** Returns who this thread is. */
    String current() {
        String thread = Names.storable(Thread.currentThread().getName());
        return LockEntity.shortened(process + "/" + thread);
    }
}

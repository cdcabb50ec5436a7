package io.github.holdfast.service;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** Says for people who acquires: process, host and thread. */
final class Holders {

    private final String process = ProcessHandle.current().pid() + "@" + host();

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unnamed) {
            return "localhost";
        }
    }

    String current() {
        return Names.storable(process + "/" + Thread.currentThread().getName());
    }
}

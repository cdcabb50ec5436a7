package io.github.holdfast.liquibase;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** Describes the holder of the lock for people, as Holdfast does for its other locks: application, process, host and thread. */
final class Holder {

    private static final int MAX_LENGTH = 255;

    private Holder() {}

    static String current(LiquibaseLock settings) {
        String application = settings.application().isEmpty() ? "" : settings.application() + ":";
        String text = application
                + ProcessHandle.current().pid()
                + "@"
                + host()
                + "/"
                + Thread.currentThread().getName();
        return shortened(text.replaceAll("[\\p{Cntrl}\\p{Cs}]", "?"));
    }

    private static String shortened(String text) {
        if (text.length() <= MAX_LENGTH) {
            return text;
        }
        boolean insideSurrogatePair = Character.isHighSurrogate(text.charAt(MAX_LENGTH - 1));
        return text.substring(0, insideSurrogatePair ? MAX_LENGTH - 1 : MAX_LENGTH);
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unnamed) {
            return "localhost";
        }
    }
}

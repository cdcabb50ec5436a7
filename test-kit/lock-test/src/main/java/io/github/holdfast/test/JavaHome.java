package io.github.holdfast.test;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/** Finds installed JDKs, for tests that need a newer version than this JVM's. */
public final class JavaHome {

    private static final String PROPERTY = "holdfast.test.java-home";

    private JavaHome() {}

    /**
     * Finds a JDK. It searches the system property {@code holdfast.test.java-home} first, then this JVM's JDK, then the JDKs
     * installed beside it.
     *
     * @param feature the lowest feature version to accept, such as 25
     * @return the home of the JDK; empty if there is none
     */
    public static Optional<Path> ofVersion(int feature) {
        Path own = Path.of(System.getProperty("java.home"));
        String named = System.getProperty(PROPERTY);
        Stream<Path> first = named == null ? Stream.of(own) : Stream.of(Path.of(named), own);
        return Stream.concat(first, beside(own))
                .filter(home -> version(home) >= feature)
                .findFirst();
    }

    /**
     * Does the same as {@link #ofVersion}, but skips the test without that JDK. It skips the test on a build server too, because
     * Debian 12 has no package of a newer JDK.
     *
     * @param feature the lowest feature version to accept
     * @return the home of the JDK
     * @throws org.opentest4j.TestAbortedException if there is none
     */
    public static Path required(int feature) {
        return ofVersion(feature).orElseThrow(() -> Unavailable.evenOnBuildServer(missing(feature)));
    }

    static String missing(int feature) {
        return "there is no JDK " + feature + " (Debian 13: apt-get install openjdk-" + feature + "-jdk-headless; or -D"
                + PROPERTY + "=<its home>)";
    }

    private static Stream<Path> beside(Path home) {
        try (Stream<Path> siblings = Files.list(home.toRealPath().getParent())) {
            return siblings.sorted().toList().stream();
        } catch (IOException unreadable) {
            return Stream.empty();
        }
    }

    /** Returns the feature version of the JDK in this directory; 0 if there is none. */
    static int version(Path home) {
        Properties release = new Properties();
        try (Reader file = Files.newBufferedReader(home.resolve("release"))) {
            release.load(file);
        } catch (IOException | IllegalArgumentException none) {
            return 0;
        }
        try {
            String version = release.getProperty("JAVA_VERSION", "").replace("\"", "");
            return Runtime.Version.parse(version).feature();
        } catch (IllegalArgumentException unknown) {
            return 0;
        }
    }
}

package io.github.holdfast.test;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/** The JDKs that are installed: for tests of what this JVM's is too old for. */
public final class JavaHome {

    private static final String PROPERTY = "holdfast.test.java-home";

    private JavaHome() {}

    /**
     * Looks for a JDK: first the one that the system property {@code holdfast.test.java-home} names, then this JVM's, then
     * those that are installed beside it.
     *
     * @param feature its version, such as 25, or an older one
     * @return its home; empty if there is none
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
     * The same, for tests that are skipped without one: on a build server too, because Debian 12 has no package of a newer JDK.
     *
     * @param feature its version
     * @return its home
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

    /** The feature version of the JDK at this place; 0 if there is none. */
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

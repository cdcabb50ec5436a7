package io.github.holdfast.release;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * The files of one version of an artifact, as Maven has put them into a folder.
 *
 * @param artifactId its name
 * @param directory where its files are
 * @param prefix what the names of its files begin with
 */
record StagedArtifact(String artifactId, Path directory, String prefix) {

    /** The system property with the folder. */
    static final String STAGING = "holdfast.staging";

    /** Why tests of staged files do not run. */
    static final String NOTHING_STAGED = "nothing is staged: see docs/project/releasing.md";

    private static final Path GROUP = Path.of("io", "github", "holdfast");

    /** Returns the folder that Maven has deployed to. */
    static Path staging() {
        return Path.of(System.getProperty(STAGING));
    }

    /** Returns the names of all artifacts in the folder. */
    static List<String> names() throws IOException {
        return children(staging().resolve(GROUP)).stream()
                .map(directory -> directory.getFileName().toString())
                .toList();
    }

    /** Returns all artifacts that there must be. */
    static List<StagedArtifact> all() throws IOException {
        List<StagedArtifact> artifacts = new ArrayList<>();
        for (String name : Module.publishedArtifacts()) {
            artifacts.add(of(name));
        }
        return artifacts;
    }

    /** Returns those with a jar, which are all but the BOM. */
    static List<StagedArtifact> jars() throws IOException {
        return all().stream().filter(artifact -> !artifact.isBom()).toList();
    }

    private static StagedArtifact of(String artifactId) throws IOException {
        Path directory = staging()
                .resolve(GROUP)
                .resolve(artifactId)
                .resolve(Module.root().version());
        List<String> poms = children(directory).stream()
                .map(file -> file.getFileName().toString())
                .filter(name -> name.endsWith(".pom"))
                .toList();
        if (poms.size() != 1) {
            throw new AssertionError(directory + " must contain one pom, but contains " + poms);
        }
        // A snapshot's files are named after the time at which they were made.
        String prefix = poms.get(0).replaceAll("\\.pom$", "");
        return new StagedArtifact(artifactId, directory, prefix);
    }

    static List<Path> children(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            throw new AssertionError(directory + " does not exist");
        }
        try (Stream<Path> children = Files.list(directory)) {
            return children.sorted().toList();
        }
    }

    boolean isBom() {
        return artifactId.equals("lock-bom");
    }

    /** Returns one of its files, named by the end of its name. */
    Path file(String suffix) {
        return directory.resolve(prefix + suffix);
    }

    /** Opens one of its jars, named by the end of its name. */
    JarFile open(String suffix) throws IOException {
        return new JarFile(file(suffix).toFile());
    }

    Xml pom() throws IOException {
        return Xml.read(file(".pom"));
    }

    /** Named in the reports of tests. */
    @Override
    public String toString() {
        return artifactId;
    }
}

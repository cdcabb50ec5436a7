package io.github.holdfast.release;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * An application outside of the project that knows nothing but the staged files: on H2 and on PostgreSQL, it takes a lock, runs a task
 * once, and shows the console.
 */
@EnabledIfSystemProperty(named = StagedArtifact.STAGING, matches = ".+", disabledReason = StagedArtifact.NOTHING_STAGED)
class ConsumerTest {

    private static final Path CONSUMER = Path.of("consumer").toAbsolutePath();
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final List<String> DONE = List.of("done: lock HELD", "done: task", "done: console 200 true");

    /** Not below the project, where Maven would find settings of it. */
    @TempDir
    Path directory;

    @Test
    void mavenBuildsAnApplication() throws Exception {
        Path consumer = copy();
        String settings = Files.readString(consumer.resolve("settings.xml"))
                .replace("@staging@", StagedArtifact.staging().toUri().toString())
                .replace(
                        "@repository@",
                        Path.of(System.getProperty("holdfast.repository"))
                                .toUri()
                                .toString());
        Files.writeString(consumer.resolve("settings.xml"), settings);

        run(
                Module.PROJECT.resolve("mvnw").toRealPath().toString(),
                "--batch-mode",
                "--no-transfer-progress",
                "--settings",
                "settings.xml",
                "-Dmaven.repo.local=" + directory.resolve("repository"),
                "-Dholdfast.version=" + Module.root().version(),
                "package");

        Path jar = consumer.resolve("target/consumer.jar");
        assertThat(libraries(jar)).contains("lock-service", "lock-spring", "lock-spring-boot-starter", "lock-console");
        runsOnBoth(JAVA, "-jar", jar.toString());
    }

    @Test
    @EnabledIf(value = "gradleIsThere", disabledReason = "there is no Gradle: see docs/project/releasing.md")
    void gradleBuildsAnApplication() throws Exception {
        copy();

        runsOnBoth(
                System.getProperty("holdfast.gradle"),
                "--no-daemon",
                "--quiet",
                "--gradle-user-home",
                directory.resolve("gradle").toString(),
                "-Pstaging=" + StagedArtifact.staging().toUri(),
                "-Pholdfast.version=" + Module.root().version(),
                "run");
    }

    static boolean gradleIsThere() throws InterruptedException {
        try {
            return new ProcessBuilder(System.getProperty("holdfast.gradle"), "--version")
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the directory, in which {@link #run} works. */
    private Path copy() throws IOException {
        Path copy = directory.resolve("consumer");
        try (Stream<Path> files = Files.walk(CONSUMER)) {
            for (Path file : files.toList()) {
                Files.copy(file, copy.resolve(CONSUMER.relativize(file)), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
        return copy;
    }

    /** Returns the names of the artifacts of Holdfast in an application, all of which must be the staged ones. */
    private static List<String> libraries(Path application) throws IOException {
        List<String> names = new ArrayList<>();
        try (JarFile jar = new JarFile(application.toFile())) {
            for (StagedArtifact artifact : StagedArtifact.jars()) {
                JarEntry entry = jar.getJarEntry("BOOT-INF/lib/" + artifact.artifactId() + "-"
                        + Module.root().version() + ".jar");
                if (entry != null) {
                    assertThat(jar.getInputStream(entry)).hasBinaryContent(Files.readAllBytes(artifact.file(".jar")));
                    names.add(artifact.artifactId());
                }
            }
        }
        return names;
    }

    /** Runs the application with its own database, which is H2, and with a new one that the environment names. */
    private void runsOnBoth(String... command) throws IOException, InterruptedException {
        String active = "Holdfast is active: version " + Module.root().version() + ", database ";
        assertThat(run(command))
                .containsAll(DONE)
                .contains("done: database H2")
                .anyMatch(line -> line.contains(active + "H2"));

        try (EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                .setServerConfig("listen_addresses", "127.0.0.1")
                .start()) {
            Map<String, String> environment = Map.of(
                    "SPRING_DATASOURCE_URL",
                    "jdbc:postgresql://127.0.0.1:" + postgres.getPort() + "/postgres",
                    "SPRING_DATASOURCE_USERNAME",
                    "postgres");
            assertThat(run(environment, command))
                    .containsAll(DONE)
                    .contains("done: database PostgreSQL")
                    .anyMatch(line -> line.contains(active + "PostgreSQL"));
        }
    }

    private List<String> run(String... command) throws IOException, InterruptedException {
        return run(Map.of(), command);
    }

    private List<String> run(Map<String, String> environment, String... command)
            throws IOException, InterruptedException {
        Path output = Files.createTempFile(directory, "output", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.resolve("consumer").toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            boolean ended = process.waitFor(10, TimeUnit.MINUTES);
            List<String> lines = Files.readAllLines(output);
            assertThat(ended ? process.exitValue() : -1)
                    .as("%s\n%s", List.of(command), String.join("\n", lines))
                    .isZero();
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }
}

package io.github.holdfast.faults.mutations;

import com.github.difflib.patch.PatchFailedException;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** Tests of other modules in a process of their own, where code with a bug takes the place of that of the project. */
final class Trial {

    private static final Duration LIMIT = Duration.ofMinutes(15);

    private final Path directory;
    private final Path classes;

    /** @param directory for what was changed, and what the process leaves */
    Trial(Path directory) throws IOException {
        this.directory = directory.toAbsolutePath();
        this.classes = this.directory.resolve("classes");
        Files.createDirectories(classes);
    }

    /**
     * Puts a bug into the code.
     *
     * @throws PatchFailedException if the patch does not fit
     * @throws IllegalStateException if what it makes of the code cannot be compiled
     */
    void mutate(Mutation mutation) throws IOException, PatchFailedException {
        Path source = directory.resolve(mutation.file());
        Files.createDirectories(source.resolveSibling(""));
        Files.write(source, mutation.mutated());
        List<String> arguments = new ArrayList<>(List.of(
                "-proc:none",
                "-parameters",
                "-cp",
                System.getProperty("java.class.path"),
                "-d",
                classes.toString(),
                source.toString()));
        arguments.addAll(mutation.neighboursWithItsConstants());
        ByteArrayOutputStream messages = new ByteArrayOutputStream();
        int result =
                ToolProvider.getSystemJavaCompiler().run(null, messages, messages, arguments.toArray(String[]::new));
        if (result != 0) {
            throw new IllegalStateException(
                    mutation + " cannot be compiled:\n" + messages.toString(StandardCharsets.UTF_8));
        }
    }

    /**
     * Runs tests.
     *
     * @param tests as {@link TestRunner} takes them
     */
    Outcome run(List<String> tests) throws IOException, InterruptedException {
        Path outcome = directory.resolve("outcome.txt");
        Files.deleteIfExists(outcome);
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // Short runs: what the JIT compiler and the collector do for long ones costs more than the test.
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", classPath(), TestRunner.class.getName(), outcome.toString()));
        command.addAll(tests);
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("output.txt").toFile())
                .start();
        try {
            boolean hasEnded = process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS);
            return new Outcome(hasEnded && Files.exists(outcome) ? Files.readAllLines(outcome) : List.of());
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /** The tests of the other modules are where the same build has compiled them. */
    private String classPath() {
        Stream<String> tests = Stream.of("lock-repository", "lock-service")
                .map(module -> Mutation.PROJECT
                        .resolve(Path.of(module, "target", "test-classes"))
                        .toAbsolutePath()
                        .toString());
        return String.join(
                File.pathSeparator,
                Stream.of(Stream.of(classes.toString()), tests, Stream.of(System.getProperty("java.class.path")))
                        .flatMap(part -> part)
                        .toList());
    }
}

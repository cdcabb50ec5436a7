package io.github.holdfast.test;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * An archive of classes for the JVMs that tests start, which need not read and verify them then: half of the processor time of a
 * start with Hibernate (<a href="https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html">class data sharing</a>).
 *
 * <p>The first of these JVMs, of whichever test JVM, lists the classes that it loads, and when it has ended an archive is made of the
 * list. Those that start before that do without. There is none unless the system property {@code holdfast.test.classes} says in which
 * file.
 */
final class SharedClasses {

    private static final String PROPERTY = "holdfast.test.classes";
    private static final Path JAVA =
            Path.of(System.getProperty("java.home")).resolve("bin").resolve("java");

    private final Path archive;
    private final Path list;
    private final boolean isListing;

    private SharedClasses(Path archive) {
        this.archive = archive;
        this.list = archive.resolveSibling(archive.getFileName() + ".list");
        this.isListing = !Files.exists(archive) && isFirst();
    }

    /** Has the command start this JVM's Java with its class path. */
    static Process start(ProcessBuilder builder) throws IOException {
        String property = System.getProperty(PROPERTY);
        if (property == null || !builder.command().get(0).equals(JAVA.toString())) {
            return builder.start();
        }
        SharedClasses classes = new SharedClasses(Path.of(property).toAbsolutePath());
        builder.command().addAll(1, classes.arguments());
        Process process = builder.start();
        if (classes.isListing) {
            CompletableFuture<Void> unused = process.onExit().thenRunAsync(classes::archive);
        }
        return process;
    }

    /** This JVM's class path, the jars first: it has to begin as that of the archive, which must not have directories. */
    static String classPath() {
        return String.join(File.pathSeparator, entries(SharedClasses::isJar), entries(entry -> !isJar(entry)));
    }

    private static String entries(Predicate<String> condition) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(condition)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static boolean isJar(String entry) {
        return entry.endsWith(".jar");
    }

    private List<String> arguments() {
        if (isListing) {
            return List.of("-XX:DumpLoadedClassList=" + list);
        }
        // It is not used if a jar seems to have another date, as it does under libfaketime; of which nothing is to be
        // printed.
        return Files.exists(archive)
                ? List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:class+path=off")
                : List.of();
    }

    private boolean isFirst() {
        try {
            Files.createFile(list);
            return true;
        } catch (FileAlreadyExistsException another) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void archive() {
        Path incomplete = archive.resolveSibling(archive.getFileName() + ".incomplete");
        try {
            List<String> classes = new ArrayList<>(Files.readAllLines(list));
            // Of a process that was killed, the last line may be cut.
            classes.remove(classes.size() - 1);
            Files.write(list, classes);
            Process dump = new ProcessBuilder(
                            JAVA.toString(),
                            "-Xshare:dump",
                            "-XX:+UseSerialGC",
                            "-XX:SharedClassListFile=" + list,
                            "-XX:SharedArchiveFile=" + incomplete,
                            "-cp",
                            entries(SharedClasses::isJar))
                    .redirectErrorStream(true)
                    .redirectOutput(Redirect.DISCARD)
                    .start();
            if (dump.waitFor() == 0) {
                Files.move(incomplete, archive, StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

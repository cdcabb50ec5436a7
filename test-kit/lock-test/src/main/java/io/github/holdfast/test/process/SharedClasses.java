package io.github.holdfast.test.process;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An archive of classes for the JVMs that tests start. With the archive, they need not read and verify these classes. That takes
 * half of the processor time of a start with Hibernate (<a
 * href="https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html">class data sharing</a>).
 *
 * <p>The first of these JVMs, whichever test starts it, lists the classes that it loads. After its end, an archive is created
 * from the list. JVMs that start earlier run without the archive. All of them do so if the creation was interrupted. The system
 * property {@code holdfast.test.classes} enables the archive; it contains the beginning of the files' path. The rest of the path
 * depends on the Java version and the jars.
 */
final class SharedClasses {

    private static final String PROPERTY = "holdfast.test.classes";
    private static final Path JAVA =
            Path.of(System.getProperty("java.home")).resolve("bin").resolve("java");

    private final Path archive;
    private final Path list;
    private final boolean isListing;

    private SharedClasses(String path) {
        this.archive = Path.of(path + "-" + fingerprint() + ".jsa").toAbsolutePath();
        this.list = archive.resolveSibling(archive.getFileName() + ".list");
        this.isListing = !Files.exists(archive) && isFirst();
    }

    /**
     * Starts a command. It uses shared classes if the command starts this JVM's Java. The command's class path must be this
     * JVM's.
     */
    static Process start(ProcessBuilder builder) throws IOException {
        String path = System.getProperty(PROPERTY);
        if (path == null || !builder.command().get(0).equals(JAVA.toString())) {
            return builder.start();
        }
        SharedClasses classes = new SharedClasses(path);
        builder.command().addAll(1, classes.arguments());
        Process process = builder.start();
        if (classes.isListing) {
            CompletableFuture<Void> unused = process.onExit().thenRunAsync(classes::archive);
        }
        return process;
    }

    /**
     * Returns this JVM's class path. With shared classes, the jars come first. The class path must begin with that of the
     * archive, and an archive must not contain directories.
     */
    static String classPath() {
        return System.getProperty(PROPERTY) == null
                ? System.getProperty("java.class.path")
                : Stream.of(entries(SharedClasses::isJar), entries(entry -> !isJar(entry)))
                        .filter(entries -> !entries.isEmpty())
                        .collect(Collectors.joining(File.pathSeparator));
    }

    /**
     * Returns a fingerprint of the Java version and the jars. The JVM would reject an archive of another version or other jars.
     */
    private static String fingerprint() {
        StringBuilder dependsOn = new StringBuilder(System.getProperty("java.vm.version"));
        for (String jar : entries(SharedClasses::isJar).split(File.pathSeparator)) {
            File file = new File(jar);
            dependsOn.append(jar).append(file.length()).append(file.lastModified());
        }
        return Integer.toHexString(dependsOn.toString().hashCode());
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
        // Under libfaketime, the jars seem to have other dates, so the JVM does not use the archive. These options
        // suppress its report.
        return Files.exists(archive)
                ? List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:disable", "-Xlog:all=error:stderr")
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
            List<String> classes = Files.readAllLines(list);
            // If the process was killed, the last line may be cut.
            Files.write(list, classes.subList(0, Math.max(0, classes.size() - 1)));
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

package io.github.holdfast.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;

/** What is kept between runs: unpacked servers and initialised data directories. */
final class Cache {

    private Cache() {}

    static Path directory() {
        Path home = Path.of(System.getProperty("user.home"), ".cache", "holdfast");
        Path cache = Path.of(System.getProperty("holdfast.test.cache", home.toString()));
        try {
            // Private: programs are started from here.
            return Files.createDirectories(
                    cache.toAbsolutePath(),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A directory that is filled once. It appears under its name only when it is complete, whatever happens to the JVM, and
     * other JVMs that want it meanwhile wait.
     */
    static synchronized Path filled(String name, Filler filler) {
        Path cache = directory();
        Path directory = cache.resolve(name);
        if (Files.isDirectory(directory)) {
            return directory;
        }
        try (FileChannel channel = FileChannel.open(
                        cache.resolve(name + ".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.lock()) {
            if (lock.isValid() && !Files.isDirectory(directory)) {
                deleteIncomplete(cache, name);
                Path incomplete = Files.createTempDirectory(cache, name + ".incomplete-");
                filler.fill(incomplete);
                Files.move(incomplete, directory, StandardCopyOption.ATOMIC_MOVE);
            }
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void deleteIncomplete(Path cache, String name) throws IOException {
        try (DirectoryStream<Path> leftovers = Files.newDirectoryStream(cache, name + ".incomplete-*")) {
            for (Path leftover : leftovers) {
                delete(leftover);
            }
        }
    }

    static void delete(Path directory) throws IOException {
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException e) throws IOException {
                Files.delete(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    static void copy(Path from, Path to) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path visited, BasicFileAttributes attributes) throws IOException {
                // With its permissions: PostgreSQL insists on them.
                Files.copy(visited, to.resolve(from.relativize(visited)), StandardCopyOption.COPY_ATTRIBUTES);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.copy(file, to.resolve(from.relativize(file)), StandardCopyOption.COPY_ATTRIBUTES);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Puts the contents into an empty directory. */
    interface Filler {
        void fill(Path directory) throws IOException;
    }
}

package io.github.holdfast.test.download;

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

/** The cache of files between runs: unpacked servers and initialised data directories. */
public final class Cache {

    private Cache() {}

    public static Path directory() {
        Path home = Path.of(System.getProperty("user.home"), ".cache", "holdfast");
        Path cache = Path.of(System.getProperty("holdfast.test.cache", home.toString()));
        try {
            // Private to this user, because tests start programs from here.
            return Files.createDirectories(
                    cache.toAbsolutePath(),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns a directory, and fills it if it does not exist. The directory gets its name only when it is complete, even if the
     * JVM is killed before. Other JVMs that need it wait until then.
     */
    public static synchronized Path filled(String name, Filler filler) {
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

    public static void copy(Path from, Path to) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path visited, BasicFileAttributes attributes) throws IOException {
                // Copies the permissions too: PostgreSQL requires them.
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

    /** Fills an empty directory. */
    public interface Filler {
        void fill(Path directory) throws IOException;
    }
}

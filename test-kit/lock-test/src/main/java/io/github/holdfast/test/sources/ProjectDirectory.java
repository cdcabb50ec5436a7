package io.github.holdfast.test.sources;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/** The directory of the whole project, for a test that reads a page or the sources of another module. */
public final class ProjectDirectory {

    private static final Path ROOT = find(Path.of("").toAbsolutePath());

    private static final Set<String> MADE = Set.of("target", "node_modules", ".git");

    private ProjectDirectory() {}

    /**
     * Returns a file or directory of the project.
     *
     * @param path relative to the directory of the project, such as {@code docs/start/faq.md}
     * @return its absolute path, whether it exists or not
     */
    public static Path resolve(String path) {
        return ROOT.resolve(path);
    }

    /**
     * Returns the project's own files with a suffix, without what builds have made.
     *
     * @param suffix such as {@code .md}
     * @return their absolute paths, in their order
     * @throws IOException if a directory cannot be read
     */
    public static List<Path> files(String suffix) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                return MADE.contains(String.valueOf(directory.getFileName()))
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().endsWith(suffix)) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        Collections.sort(found);
        return found;
    }

    private static Path find(Path start) {
        for (Path directory = start; directory != null; directory = directory.getParent()) {
            if (Files.isDirectory(directory.resolve(".mvn"))) {
                return directory;
            }
        }
        throw new IllegalStateException("No directory above " + start + " contains .mvn");
    }
}

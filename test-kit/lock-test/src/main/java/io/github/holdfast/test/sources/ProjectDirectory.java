package io.github.holdfast.test.sources;

import java.nio.file.Files;
import java.nio.file.Path;

/** The directory of the whole project, for a test that reads a page or the sources of another module. */
public final class ProjectDirectory {

    private static final Path ROOT = find(Path.of("").toAbsolutePath());

    private ProjectDirectory() {}

    /**
     * Returns a file or directory of the project.
     *
     * @param path relative to the directory of the project, such as {@code docs/faq.md}
     * @return its absolute path, whether it exists or not
     */
    public static Path resolve(String path) {
        return ROOT.resolve(path);
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

package io.github.holdfast.test.sources;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The compiled classes of a module, for tests that look at all of them. */
public final class CompiledClasses {

    private CompiledClasses() {}

    /**
     * Returns the names of all classes in the folder that a class was loaded from.
     *
     * @param one any of them; not one of a jar
     * @return binary names, as {@link Class#forName(String)} expects them
     * @throws IOException if the folder cannot be read
     * @throws URISyntaxException if its path is unusual
     */
    public static List<String> beside(Class<?> one) throws IOException, URISyntaxException {
        Path folder = location(one);
        try (Stream<Path> files = Files.walk(folder)) {
            return files.map(file -> folder.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && file.contains("/"))
                    .map(file -> file.replace(".class", "").replace('/', '.'))
                    .toList();
        }
    }

    /** Returns the folder or jar that a class was loaded from. */
    static Path location(Class<?> type) throws URISyntaxException {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }
}

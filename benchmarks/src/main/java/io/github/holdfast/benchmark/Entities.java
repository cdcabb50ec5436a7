package io.github.holdfast.benchmark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** The entities of an application: as many as one wants, with eight columns each and one reference. */
final class Entities {

    private static final int MOST = 100;

    private Entities() {}

    /** Writes and compiles the classes into a new directory. */
    static Path compiled() {
        try {
            Path directory = Files.createTempDirectory("entities");
            List<String> sources = new ArrayList<>();
            for (int number = 0; number < MOST; number++) {
                Path source = directory.resolve("Entity" + number + ".java");
                Files.writeString(source, source(number));
                sources.add(source.toString());
            }
            Stream<String> options =
                    Stream.of("-proc:none", "-d", directory.toString(), "-cp", System.getProperty("java.class.path"));
            int result = ToolProvider.getSystemJavaCompiler()
                    .run(
                            null,
                            null,
                            null,
                            Stream.concat(options, sources.stream()).toArray(String[]::new));
            if (result != 0) {
                throw new IllegalStateException("The entities were not compiled");
            }
            return directory;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static String source(int number) {
        String columns = IntStream.range(0, 6)
                .mapToObj(column -> "private String text" + column + ";")
                .collect(Collectors.joining(" "));
        return "import jakarta.persistence.*; @Entity public class Entity" + number
                + " { @Id @GeneratedValue private Long id; @Version private long version; " + columns
                + " private java.time.Instant changed;"
                + " @ManyToOne(fetch = FetchType.LAZY) private Entity" + Math.max(0, number - 1) + " other; }";
    }

    /** Loads the first of these classes. The calling thread's class loader then finds them too, as Hibernate needs it. */
    static List<Class<?>> load(Path directory, int many) {
        try {
            URL[] place = {directory.toUri().toURL()};
            ClassLoader loader = new URLClassLoader(place, Entities.class.getClassLoader());
            Thread.currentThread().setContextClassLoader(loader);
            List<Class<?>> entities = new ArrayList<>();
            for (int number = 0; number < many; number++) {
                entities.add(loader.loadClass("Entity" + number));
            }
            return entities;
        } catch (IOException | ClassNotFoundException failed) {
            throw new IllegalStateException(failed);
        }
    }
}

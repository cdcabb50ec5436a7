package io.github.holdfast.test.sources;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Java source files of a test, such as the code of a page of the documentation. Not thread-safe.
 *
 * <pre>{@code
 * JavaSources.in(directory.resolve("sources"))
 *         .file("Page", PAGE.formatted(JavaSources.blocksOf("operate/liquibase.md").toArray()))
 *         .compile(directory.resolve("classes"), System.getProperty("java.class.path"));
 * }</pre>
 */
public final class JavaSources {

    /** In a list, a block is indented. */
    private static final Pattern BLOCK =
            Pattern.compile("^( *)```java\n(.*?)\n\\1```$", Pattern.DOTALL | Pattern.MULTILINE);

    private final Path directory;

    private JavaSources(Path directory) {
        this.directory = directory;
    }

    /**
     * Returns the blocks of Java code of a page.
     *
     * @param page the page's file in {@code docs}, such as {@code operate/liquibase.md}
     * @return the lines within each fenced block that is said to be Java, in their order
     * @throws IOException if the page cannot be read
     */
    public static List<String> blocksOf(String page) throws IOException {
        return BLOCK.matcher(Files.readString(ProjectDirectory.resolve("docs/" + page)))
                .results()
                .map(block -> block.group(2).indent(-block.group(1).length()).stripTrailing())
                .toList();
    }

    /**
     * Returns the sources in a directory.
     *
     * @param directory created if it does not exist
     * @return its files, and those that are added
     * @throws IOException if it cannot be created
     */
    public static JavaSources in(Path directory) throws IOException {
        return new JavaSources(Files.createDirectories(directory));
    }

    /**
     * Adds a file, or replaces it.
     *
     * @param type the simple name of its type
     * @param code what the file contains
     * @return this
     * @throws IOException if it cannot be written
     */
    public JavaSources file(String type, String code) throws IOException {
        Files.writeString(directory.resolve(type + ".java"), code);
        return this;
    }

    /**
     * Compiles all files of the directory and those below it, with the names of parameters and without annotation processors.
     *
     * @param classes where the classes go; created if it does not exist
     * @param classPath what the code may use
     * @throws AssertionError if it does not compile; the standard error says why
     * @throws IOException if the files cannot be read
     */
    public void compile(Path classes, String classPath) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (Stream<Path> files = Files.walk(directory);
                StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            List<Path> sources =
                    files.filter(file -> file.toString().endsWith(".java")).toList();
            List<String> options = List.of(
                    "-d",
                    Files.createDirectories(classes).toString(),
                    "-cp",
                    classPath,
                    "-parameters",
                    "-proc:none",
                    "-nowarn");
            if (!compiler.getTask(null, manager, null, options, null, manager.getJavaFileObjectsFromPaths(sources))
                    .call()) {
                throw new AssertionError("It does not compile: " + sources);
            }
        }
    }
}

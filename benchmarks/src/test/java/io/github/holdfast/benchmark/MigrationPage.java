package io.github.holdfast.benchmark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The code of a page on migration, compiled as the class {@code example.Page}. */
final class MigrationPage implements AutoCloseable {

    private final URLClassLoader loader;
    private final Class<?> type;

    private MigrationPage(URLClassLoader loader) throws ClassNotFoundException {
        this.loader = loader;
        type = loader.loadClass("example.Page");
    }

    /** Returns the blocks of Java code of a page. */
    static List<String> blocks(String page) throws IOException {
        return Pattern.compile("```java\n(.*?)\n```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("..", "docs", page)))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    /** Compiles the code into this directory. */
    static MigrationPage compile(Path directory, String code) throws Exception {
        Path source = Files.writeString(directory.resolve("Page.java"), code);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            List<String> options = List.of("-d", directory.toString(), "-proc:none", "-nowarn");
            assertThat(compiler.getTask(null, manager, null, options, null, manager.getJavaFileObjects(source))
                            .call())
                    .as("it compiles")
                    .isTrue();
        }
        return new MigrationPage(
                new URLClassLoader(new URL[] {directory.toUri().toURL()}, MigrationPage.class.getClassLoader()));
    }

    /** Returns how the nodes of one release work, which the method of this name says. */
    UnderLock node(String method, Object... arguments) throws Exception {
        return (UnderLock) call(method, arguments);
    }

    /** Calls the static method with this name. */
    Object call(String method, Object... arguments) throws Exception {
        Method called = Arrays.stream(type.getMethods())
                .filter(candidate -> candidate.getName().equals(method))
                .findFirst()
                .orElseThrow();
        try {
            return Objects.requireNonNullElse(called.invoke(null, arguments), "nothing");
        } catch (InvocationTargetException failed) {
            if (failed.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw failed;
        }
    }

    @Override
    public void close() throws IOException {
        loader.close();
    }
}

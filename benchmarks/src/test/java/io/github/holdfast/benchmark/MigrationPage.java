package io.github.holdfast.benchmark;

import io.github.holdfast.test.sources.JavaSources;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;

/** The code of a page on migration, compiled as the class {@code example.Page}. */
final class MigrationPage implements AutoCloseable {

    private final URLClassLoader loader;
    private final Class<?> type;

    private MigrationPage(URLClassLoader loader) throws ClassNotFoundException {
        this.loader = loader;
        type = loader.loadClass("example.Page");
    }

    /** Compiles the code into this directory. */
    static MigrationPage compile(Path directory, String code) throws Exception {
        JavaSources.in(directory).file("Page", code).compile(directory, System.getProperty("java.class.path"));
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

package io.github.holdfast.test.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Configures and starts a {@link JavaProcess}. */
public final class JavaProcessBuilder {
    private final Class<?> main;
    private final List<String> jvmArguments = new ArrayList<>(List.of("-Xmx128m"));
    private final List<String> arguments = new ArrayList<>();
    private final Map<String, String> environment = new TreeMap<>();
    private @Nullable String classPath;
    private Path javaHome = Path.of(System.getProperty("java.home"));

    JavaProcessBuilder(Class<?> main) {
        this.main = main;
    }

    /**
     * Adds arguments for the JVM. By default it has {@code -Xmx128m}.
     *
     * @param jvmArguments arguments such as {@code -Duser.timezone=UTC}; the last {@code -Xmx} wins
     * @return this
     */
    public JavaProcessBuilder jvmArgs(String... jvmArguments) {
        this.jvmArguments.addAll(List.of(jvmArguments));
        return this;
    }

    /**
     * Selects a class path other than this JVM's.
     *
     * @param classPath the entries, as for {@code java -cp}; one of them has the main class and this class
     * @return this
     */
    public JavaProcessBuilder classPath(String classPath) {
        this.classPath = classPath;
        return this;
    }

    /**
     * Selects a JDK other than this JVM's.
     *
     * @param javaHome the home of the JDK, for example a result of {@code JavaHome}
     * @return this
     */
    public JavaProcessBuilder javaHome(Path javaHome) {
        this.javaHome = javaHome;
        return this;
    }

    /**
     * Sets an environment variable, in addition to those of this JVM.
     *
     * @param name the name
     * @param value the value
     * @return this
     */
    public JavaProcessBuilder env(String name, String value) {
        environment.put(name, value);
        return this;
    }

    /**
     * Sets environment variables, in addition to those of this JVM.
     *
     * @param variables names and values
     * @return this
     */
    public JavaProcessBuilder env(Map<String, String> variables) {
        environment.putAll(variables);
        return this;
    }

    /**
     * Adds arguments for the {@code main} method.
     *
     * @param arguments the arguments
     * @return this
     */
    public JavaProcessBuilder args(String... arguments) {
        this.arguments.addAll(List.of(arguments));
        return this;
    }

    /**
     * Starts the JVM.
     *
     * @return the process; the caller closes it
     */
    public JavaProcess start() {
        List<String> command = new ArrayList<>();
        command.add(javaHome.resolve("bin").resolve("java").toString());
        command.add("-cp");
        command.add(Objects.requireNonNullElseGet(classPath, SharedClasses::classPath));
        command.addAll(jvmArguments);
        command.add(main.getName());
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        try {
            return new JavaProcess(classPath == null ? SharedClasses.start(builder) : builder.start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package io.github.holdfast.autoconfigure;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import io.github.holdfast.test.sources.JavaSources;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import org.springframework.boot.SpringApplicationAotProcessor;

/** An application in a directory of its own, with the class path that a user of the starter has, and H2. */
final class NewApplication {

    private static final Path STARTER = Path.of("target", "classes").toAbsolutePath();

    private final Path sources;
    private final Path classes;
    private final Path generatedSources;
    private final Path generatedClasses;
    private final String mainClass;
    private final String classPath;

    NewApplication(Path directory, String mainClass) throws IOException {
        this.mainClass = mainClass;
        sources = directory.resolve("sources");
        classes = Files.createDirectories(directory.resolve("classes"));
        generatedSources = directory.resolve("generated-sources");
        generatedClasses = directory.resolve("generated-classes");
        classPath = String.join(
                File.pathSeparator,
                generatedClasses.toString(),
                classes.toString(),
                STARTER.toString(),
                Files.readString(STARTER.resolveSibling("runtime-class-path.txt"))
                        .strip(),
                h2());
    }

    private static String h2() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> Path.of(entry).getFileName().toString().startsWith("h2-"))
                .findFirst()
                .orElseThrow();
    }

    String classPath() {
        return classPath;
    }

    NewApplication source(String name, String code) throws IOException {
        JavaSources.in(sources).file(name, code);
        return this;
    }

    NewApplication resource(String name, String content) throws IOException {
        Files.writeString(classes.resolve(name), content);
        return this;
    }

    NewApplication compile() throws IOException {
        JavaSources.in(sources).compile(classes, classPath);
        return this;
    }

    /** Generates what Spring's AOT processing does, and compiles that. */
    NewApplication processAheadOfTime() throws IOException, InterruptedException {
        try (JavaProcess processor = JavaProcess.of(SpringApplicationAotProcessor.class)
                .jvmArgs("-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classPath)
                .args(mainClass, generatedSources.toString(), generatedClasses.toString(), generatedClasses.toString())
                .args("example", "shop")
                .start()) {
            if (processor.waitFor(Duration.ofMinutes(10)) != 0) {
                throw new AssertionError(String.join("\n", processor.lines()));
            }
        }
        JavaSources.in(generatedSources).compile(generatedClasses, classPath);
        return this;
    }

    /** Adds a class of the tests, without nested classes. */
    NewApplication add(Class<?> type) throws IOException {
        String file = type.getName().replace('.', '/') + ".class";
        Path copy = classes.resolve(file);
        Files.createDirectories(copy.getParent());
        try (InputStream original = type.getResourceAsStream("/" + file)) {
            Files.copy(Objects.requireNonNull(original), copy);
        }
        return this;
    }

    /** Returns what the processing ahead of time allows in a native image. */
    Path reachabilityMetadata() {
        return generatedClasses.resolve("META-INF/native-image/example/shop/reachability-metadata.json");
    }

    /** Prepares a JVM that runs it. */
    JavaProcessBuilder process() throws Exception {
        return process(mainClass);
    }

    /** Prepares a JVM that runs another class of its class path. */
    JavaProcessBuilder process(String main) throws Exception {
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {classes.toUri().toURL()}, NewApplication.class.getClassLoader())) {
            return JavaProcess.of(loader.loadClass(main))
                    .jvmArgs("-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classPath);
        }
    }
}

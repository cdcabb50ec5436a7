package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on quorums, compiled and run. */
class QuorumPageTest {

    private static final Path PAGE = ProjectDirectory.resolve("docs/scale-out/quorum.md");

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = Pattern.compile("```java\n(.*?)\n```", Pattern.DOTALL)
                .matcher(Files.readString(PAGE))
                .results()
                .map(block -> block.group(1))
                .toList();
        assertThat(blocks).hasSize(3);
        compile(PAGE_CODE.formatted(blocks.toArray()), directory);
        List<Database> databases = Stream.generate(() -> Database.create(TestDatabase.H2_MEMORY))
                .limit(3)
                .toList();
        try (Client client = Client.on(databases);
                URLClassLoader loader = new URLClassLoader(
                        new URL[] {directory.toUri().toURL()}, getClass().getClassLoader())) {
            Class<?> page = loader.loadClass("example.Page");
            assertThat(page.getMethod("run", List.class).invoke(null, client.members()))
                    .isEqualTo(List.of("invoice 1", "invoice 2"));
            assertThatThrownBy(() -> page.getMethod("late", List.class).invoke(null, client.members()))
                    .isInstanceOf(InvocationTargetException.class)
                    .hasRootCauseInstanceOf(IllegalStateException.class)
                    .hasStackTraceContaining("A later holder has written");
        } finally {
            databases.forEach(Database::close);
        }
    }

    private static void compile(String code, Path directory) throws Exception {
        Path source = Files.writeString(directory.resolve("Page.java"), code);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            List<String> options = List.of("-d", directory.toString(), "-proc:none", "-nowarn");
            assertThat(compiler.getTask(null, manager, null, options, null, manager.getJavaFileObjects(source))
                            .call())
                    .as("it compiles")
                    .isTrue();
        }
    }

    private static final String PAGE_CODE = """
            package example;

            import io.github.holdfast.lock.*;
            import io.github.holdfast.quorum.*;
            import io.github.holdfast.service.LockService;
            import java.time.Duration;
            import java.util.*;

            public class Page {

                private static QuorumLocks open(LockService berlin, LockService oslo, LockService madrid) {
                    %s
                    return locks;
                }

                private static QuorumLocks open(List<LockService> members) {
                    return open(members.get(0), members.get(1), members.get(2));
                }

                public static List<String> run(List<LockService> members) throws Exception {
                    List<String> invoices = List.of("invoice 1", "invoice 2");
                    Archive archive = new Archive();
                    try (QuorumLocks locks = open(members)) {
                        %s
                    }
                    return archive.stored;
                }

                public static void late(List<LockService> members) throws Exception {
                    Archive archive = new Archive();
                    try (QuorumLocks locks = open(members)) {
                        QuorumToken former;
                        try (LockHandle lock = locks.acquire(LockRequest.of("late"))) {
                            former = QuorumToken.of(lock);
                        }
                        locks.run(LockRequest.of("late"), lock -> archive.store("new", QuorumToken.of(lock)));
                        archive.store("old", former);
                    }
                }

                static %s
            }
            """;
}

package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.sources.DocumentTable;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** A tag that no lane knows would let a long test into the short lane. */
class LanesTest {

    private static final Set<String> LEFT_OUT = Set.of("target", ".git", "node_modules");

    private static final Pattern TAG = Pattern.compile("@Tag\\(\"([^\"]+)\"\\)");

    @Test
    void pageNamesEachTag() throws IOException {
        Set<String> documented = DocumentTable.below("understand/testing.md", "Lanes").stream()
                .map(row -> row.get(0).replace("`", ""))
                .filter(tag -> !tag.equals("none"))
                .collect(Collectors.toCollection(TreeSet::new));

        Set<String> used = tags();
        used.add(OnEachDatabase.EVERYWHERE);
        assertThat(used).isEqualTo(documented);
    }

    @Test
    void shortLaneLeavesOutWhatThePageSays() throws IOException {
        assertThat(excluded("<properties>")).isEqualTo(without(2));
    }

    @Test
    void gateLeavesOutWhatThePageSays() throws IOException {
        Set<String> left = without(3);
        left.removeAll(Set.of("none", OnEachDatabase.EVERYWHERE));
        assertThat(excluded("<id>gate</id>")).isEqualTo(left);
        assertThat(property("<id>gate</id>", "tests.included")
                        .replaceAll("[()]", "")
                        .split(" (\\||&amp;) "))
                .containsExactlyInAnyOrder(
                        "each-database",
                        "!every-database",
                        "other-database",
                        "crash-point",
                        "process",
                        "outage",
                        "long");
    }

    @Test
    void allLeavesOutWhatThePageSays() throws IOException {
        assertThat(excluded("<id>all</id>")).containsExactly("nightly");
        assertThat(without(4)).isEmpty();
    }

    /** The tags of which a column says no. */
    private static Set<String> without(int column) throws IOException {
        return DocumentTable.below("understand/testing.md", "Lanes").stream()
                .filter(row -> row.get(column).equals("no"))
                .map(row -> row.get(0).replace("`", ""))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> excluded(String after) throws IOException {
        return Set.of(property(after, "tests.excluded").split(" \\| "));
    }

    /** The first value of a property of the root pom after a text. */
    private static String property(String after, String name) throws IOException {
        String pom = Files.readString(ProjectDirectory.resolve("pom.xml"));
        String rest = pom.substring(pom.indexOf(after));
        int begin = rest.indexOf("<" + name + ">") + name.length() + 2;
        return rest.substring(begin, rest.indexOf("<", begin));
    }

    private static Set<String> tags() throws IOException {
        Set<String> tags = new TreeSet<>();
        // What modules leave below target comes and goes meanwhile.
        Files.walkFileTree(ProjectDirectory.resolve(""), new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                return LEFT_OUT.contains(String.valueOf(directory.getFileName()))
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (file.toString().endsWith(".java")) {
                    TAG.matcher(Files.readString(file)).results().forEach(tag -> tags.add(tag.group(1)));
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return tags;
    }
}

package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A tag that no lane knows would let a long test into the short lane. */
class LanesTest {

    private static final Pattern TAG = Pattern.compile("@Tag\\(\"([^\"]+)\"\\)");

    @Test
    void pageNamesEachTag() throws IOException {
        Set<String> documented = DocumentTable.below("testing.md", "Lanes").stream()
                .map(row -> row.get(0).replace("`", ""))
                .filter(tag -> !tag.equals("none"))
                .collect(Collectors.toCollection(TreeSet::new));

        Set<String> used = tags();
        used.add(OnEachDatabase.EVERYWHERE);
        assertThat(used).isEqualTo(documented);
    }

    @Test
    void shortLaneLeavesOutWhatThePageSays() throws IOException {
        Set<String> left = DocumentTable.below("testing.md", "Lanes").stream()
                .filter(row -> row.get(2).equals("no"))
                .map(row -> row.get(0).replace("`", ""))
                .collect(Collectors.toCollection(TreeSet::new));

        String pom = Files.readString(ProjectDirectory.resolve("pom.xml"));
        assertThat(pom).containsPattern("<tests.excluded>[^<]+</tests.excluded>\n *<tests.usual-databases>h2");
        String excluded = pom.replaceFirst("(?s).*?<tests.excluded>([^<]+)<.*", "$1");
        assertThat(Set.of(excluded.split(" \\| "))).isEqualTo(left);
    }

    private static Set<String> tags() throws IOException {
        try (Stream<Path> files = Files.walk(ProjectDirectory.resolve(""))) {
            Set<String> tags = new TreeSet<>();
            for (Path file : files.filter(path -> path.toString().endsWith(".java")
                            && !path.toString().contains("/target/"))
                    .toList()) {
                TAG.matcher(Files.readString(file)).results().forEach(tag -> tags.add(tag.group(1)));
            }
            return tags;
        }
    }
}

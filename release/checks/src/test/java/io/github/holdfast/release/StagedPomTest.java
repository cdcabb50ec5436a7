package io.github.holdfast.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A published pom is complete, stands alone, and tells users only what they need. */
@EnabledIfSystemProperty(named = StagedArtifact.STAGING, matches = ".+", disabledReason = StagedArtifact.NOTHING_STAGED)
class StagedPomTest {

    private static final String US = "io.github.holdfast";

    @ParameterizedTest
    @MethodSource("artifacts")
    void pomIsComplete(StagedArtifact artifact) throws IOException {
        Xml pom = artifact.pom();

        assertThat(pom.text("groupId")).isEqualTo(US);
        assertThat(pom.text("artifactId")).isEqualTo(artifact.artifactId());
        assertThat(pom.text("version")).isEqualTo(Module.root().version());
        assertThat(pom.text("name")).startsWith("Holdfast: ");
        assertThat(pom.text("description")).isNotEmpty();
        for (String inherited : List.of("url", "licenses", "developers", "scm")) {
            assertThat(pom.text(inherited))
                    .as(inherited)
                    .isEqualTo(Module.root().pom().text(inherited));
        }
    }

    @ParameterizedTest
    @MethodSource("jars")
    void pomStandsAlone(StagedArtifact artifact) throws IOException {
        assertThat(artifact.pom().children().map(Xml::name))
                .doesNotContain(
                        "parent", "build", "properties", "profiles", "repositories", "dependencyManagement", "modules");
        assertThat(Files.readString(artifact.file(".pom"))).doesNotContain("${");
    }

    @ParameterizedTest
    @MethodSource("jars")
    void dependenciesAreThoseOfUsers(StagedArtifact artifact) throws IOException {
        List<Xml> dependencies = artifact.pom().all("dependencies", "dependency");

        assertThat(dependencies)
                .as("jspecify, which all modules have, or more")
                .isNotEmpty()
                .allSatisfy(dependency -> assertThat(dependency.text("version")).isNotEmpty())
                .noneMatch(dependency -> dependency.text("scope").matches("test|system|import"))
                .noneMatch(dependency -> dependency.text("type").equals("test-jar"));
        assertThat(dependencies)
                .filteredOn(dependency -> dependency.text("groupId").equals(US))
                .allSatisfy(ours -> {
                    assertThat(ours.text("artifactId")).isIn(Module.publishedArtifacts());
                    assertThat(ours.text("version")).isEqualTo(Module.root().version());
                });
        assertThat(dependencies)
                .filteredOn(dependency -> !dependency.text("groupId").equals(US))
                .noneMatch(others -> others.text("version").endsWith("-SNAPSHOT"));
    }

    static List<StagedArtifact> artifacts() throws IOException {
        return StagedArtifact.all();
    }

    static List<StagedArtifact> jars() throws IOException {
        return StagedArtifact.jars();
    }
}

package io.github.holdfast.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The software bill of materials of a jar names what comes with it. */
@EnabledIfSystemProperty(named = StagedArtifact.STAGING, matches = ".+", disabledReason = StagedArtifact.NOTHING_STAGED)
class StagedMaterialsTest {

    @ParameterizedTest
    @MethodSource("artifacts")
    void materialsNameTheArtifactAndItsDependencies(StagedArtifact artifact) throws IOException {
        Xml bill = Xml.read(artifact.file("-cyclonedx.xml"));

        assertThat(bill.text("metadata", "component", "purl")).isEqualTo(purl(artifact.pom()));
        assertThat(bill.all("components", "component"))
                .extracting(component -> component.text("purl"))
                .containsAll(artifact.pom().all("dependencies", "dependency").stream()
                        .map(StagedMaterialsTest::purl)
                        .toList());
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void materialsSayTheSameAsJson(StagedArtifact artifact) throws IOException {
        String json = Files.readString(artifact.file("-cyclonedx.json"));

        assertThat(json).contains("\"bomFormat\" : \"CycloneDX\"");
        assertThat(Xml.read(artifact.file("-cyclonedx.xml")).all("components", "component"))
                .allSatisfy(component -> assertThat(json).contains('"' + component.text("purl") + '"'));
    }

    static List<StagedArtifact> artifacts() throws IOException {
        return StagedArtifact.jars();
    }

    /** Returns the address of a package: of a pom itself, or of a dependency. */
    private static String purl(Xml element) {
        return "pkg:maven/%s/%s@%s?type=jar"
                .formatted(element.text("groupId"), element.text("artifactId"), element.text("version"));
    }
}

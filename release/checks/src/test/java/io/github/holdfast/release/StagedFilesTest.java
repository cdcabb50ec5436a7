package io.github.holdfast.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A release consists of the files that a public repository demands, and of no others. */
@EnabledIfSystemProperty(named = StagedArtifact.STAGING, matches = ".+", disabledReason = StagedArtifact.NOTHING_STAGED)
class StagedFilesTest {

    private static final Map<String, String> CHECKSUMS = Map.of(".md5", "MD5", ".sha1", "SHA-1");

    @Test
    void onlyWhatIsPublishedIsStaged() throws IOException {
        assertThat(StagedArtifact.names()).containsExactlyInAnyOrderElementsOf(Module.publishedArtifacts());
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void artifactHasAllFilesAndNoOthers(StagedArtifact artifact) throws IOException {
        List<String> expected = suffixes(artifact).stream()
                .flatMap(suffix -> Stream.of(suffix, suffix + ".asc", suffix + ".md5", suffix + ".sha1"))
                .map(suffix -> artifact.prefix() + suffix)
                .toList();

        assertThat(StagedArtifact.children(artifact.directory()).stream()
                        .map(file -> file.getFileName().toString())
                        .filter(name -> !name.matches("maven-metadata\\.xml.*|.*\\.asc\\.(md5|sha1)")))
                .containsExactlyInAnyOrderElementsOf(expected);
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void checksumsAreRight(StagedArtifact artifact) throws IOException {
        for (String suffix : suffixes(artifact)) {
            for (Map.Entry<String, String> checksum : CHECKSUMS.entrySet()) {
                assertThat(artifact.file(suffix + checksum.getKey()))
                        .hasContent(digest(checksum.getValue(), artifact.file(suffix)));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void filesAreSignedWithTheKeyOfThisRelease(StagedArtifact artifact) throws Exception {
        SigningKey key = SigningKey.fromEnvironment();
        for (String suffix : suffixes(artifact)) {
            assertThat(key.hasSigned(artifact.file(suffix), artifact.file(suffix + ".asc")))
                    .as("the signature of %s", artifact.file(suffix))
                    .isTrue();
        }
    }

    static List<StagedArtifact> artifacts() throws IOException {
        return StagedArtifact.all();
    }

    private static List<String> suffixes(StagedArtifact artifact) {
        return artifact.isBom()
                ? List.of(".pom")
                : List.of(".pom", ".jar", "-sources.jar", "-javadoc.jar", "-cyclonedx.json", "-cyclonedx.xml");
    }

    private static String digest(String algorithm, Path file) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance(algorithm).digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}

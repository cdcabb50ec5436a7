package io.github.holdfast.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is in the jars of a release. */
@EnabledIfSystemProperty(named = StagedArtifact.STAGING, matches = ".+", disabledReason = StagedArtifact.NOTHING_STAGED)
class StagedJarTest {

    private static final List<String> JARS = List.of(".jar", "-sources.jar", "-javadoc.jar");

    /** Without nested types, and without what describes a package. */
    private static final Pattern TYPE = Pattern.compile("(.*/[^/$]+)\\.class");

    private static final int JAVA_17 = 61;

    @ParameterizedTest
    @MethodSource("artifacts")
    void licenceIsInside(StagedArtifact artifact) throws IOException {
        byte[] licence = Files.readAllBytes(Module.PROJECT.resolve("LICENSE"));
        for (String suffix : List.of(".jar", "-sources.jar")) {
            try (JarFile jar = artifact.open(suffix)) {
                assertThat(read(jar, "META-INF/LICENSE")).isEqualTo(licence);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void manifestTellsTheVersion(StagedArtifact artifact) throws IOException {
        try (JarFile jar = artifact.open(".jar")) {
            Attributes manifest = jar.getManifest().getMainAttributes();
            assertThat(manifest.getValue(Attributes.Name.IMPLEMENTATION_TITLE)).isEqualTo(artifact.artifactId());
            assertThat(manifest.getValue(Attributes.Name.IMPLEMENTATION_VERSION))
                    .isEqualTo(Module.root().version());
        }
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void sourcesAreThoseOfTheClasses(StagedArtifact artifact) throws IOException {
        try (JarFile classes = artifact.open(".jar");
                JarFile sources = artifact.open("-sources.jar")) {
            assertThat(types(classes))
                    .allSatisfy(type -> assertThat(sources.getJarEntry(type + ".java"))
                            .as(type)
                            .isNotNull());
            assertThat(sources.stream().map(JarEntry::getName).filter(name -> name.endsWith(".java")))
                    .hasSameSizeAs(types(classes));
        }
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void pagesDescribeTheClasses(StagedArtifact artifact) throws IOException {
        try (JarFile classes = artifact.open(".jar");
                JarFile pages = artifact.open("-javadoc.jar")) {
            String first = types(classes).isEmpty() ? "README.txt" : "index.html";

            assertThat(pages.getJarEntry(first)).as(first).isNotNull();
        }
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void classesRunOnJava17(StagedArtifact artifact) throws IOException {
        try (JarFile jar = artifact.open(".jar")) {
            for (String type : types(jar)) {
                assertThat((int) read(jar, type + ".class")[7]).as(type).isEqualTo(JAVA_17);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("artifacts")
    void entriesHaveTheTimeOfTheRelease(StagedArtifact artifact) throws IOException {
        LocalDateTime expected = LocalDateTime.ofInstant(
                Instant.parse(Module.root().property("project.build.outputTimestamp")), ZoneOffset.UTC);
        for (String suffix : JARS) {
            try (JarFile jar = artifact.open(suffix)) {
                assertThat(jar.stream().map(JarEntry::getTimeLocal).distinct())
                        .as(suffix)
                        .containsExactly(expected);
            }
        }
    }

    @Test
    void eachJarIsAJavaModuleWithPackagesOfItsOwn() throws IOException {
        ModuleFinder found = ModuleFinder.of(
                StagedArtifact.jars().stream().map(jar -> jar.file(".jar")).toArray(Path[]::new));
        List<ModuleReference> modules = List.copyOf(found.findAll());

        assertThat(modules)
                .extracting(module -> module.descriptor().name())
                .containsExactlyInAnyOrderElementsOf(Module.published().stream()
                        .map(module -> module.property("module.name"))
                        .toList());
        // Nobody has both starters: each is for other versions of Spring Boot.
        assertThat(modules.stream()
                        .map(ModuleReference::descriptor)
                        .filter(module -> !module.name().equals("io.github.holdfast.starter3"))
                        .flatMap(module -> module.packages().stream()))
                .as("a package that two modules have makes both useless together")
                .doesNotHaveDuplicates();
    }

    static List<StagedArtifact> artifacts() throws IOException {
        return StagedArtifact.jars();
    }

    private static List<String> types(JarFile jar) {
        return jar.stream()
                .map(entry -> TYPE.matcher(entry.getName()))
                .filter(matcher -> matcher.matches())
                .map(matcher -> matcher.group(1))
                .toList();
    }

    private static byte[] read(JarFile jar, String name) throws IOException {
        JarEntry entry = jar.getJarEntry(name);
        assertThat(entry).as("%s in %s", name, jar.getName()).isNotNull();
        try (InputStream content = jar.getInputStream(entry)) {
            return content.readAllBytes();
        }
    }
}

package io.github.holdfast.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.SourceVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a module needs so that a release can publish it. The release itself is checked by the tests of staged files. */
class PublishedModuleTest {

    @Test
    void bomNamesWhatIsPublished() throws IOException {
        List<Xml> dependencies = Module.bom().pom().all("dependencyManagement", "dependencies", "dependency");

        assertThat(dependencies)
                .extracting(dependency -> dependency.text("version"))
                .containsOnly("${project.version}");
        assertThat(dependencies)
                .extracting(dependency -> dependency.text("artifactId"))
                .as("lock-bom names the modules whose pom says maven.deploy.skip=false")
                .containsExactlyInAnyOrderElementsOf(
                        Module.published().stream().map(Module::artifactId).toList());
    }

    @Test
    void nothingElseIsPublished() throws IOException {
        assertThat(Module.root().property("maven.deploy.skip"))
                .as("what the others inherit")
                .isEqualTo("true");
    }

    @ParameterizedTest
    @MethodSource("published")
    void moduleTellsWhatItIs(Module module) {
        assertThat(module.pom().text("name")).startsWith("Holdfast: ");
        assertThat(module.pom().text("description")).isNotEmpty().doesNotEndWith(".");
        assertThat(SourceVersion.isName(module.property("module.name")))
                .as("the name of its Java module, %s", module.property("module.name"))
                .isTrue();
    }

    @Test
    void eachJavaModuleHasANameOfItsOwn() throws IOException {
        assertThat(Module.published())
                .extracting(module -> module.property("module.name"))
                .doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @MethodSource("published")
    void publishedModuleNeedsOnlyPublishedOnes(Module module) throws IOException {
        Set<String> published = Set.copyOf(Module.publishedArtifacts());

        assertThat(module.pom().all("dependencies", "dependency"))
                .filteredOn(dependency -> dependency.text("groupId").equals("io.github.holdfast")
                        && !dependency.text("scope").equals("test"))
                .extracting(dependency -> dependency.text("artifactId"))
                .isSubsetOf(published);
    }

    @ParameterizedTest
    @ValueSource(strings = {"url", "licenses", "developers", "scm"})
    void bomSaysTheSameAsTheParent(String element) throws IOException {
        assertThat(Module.bom().pom().text(element))
                .isNotEmpty()
                .isEqualTo(Module.root().pom().text(element));
    }

    @Test
    void allModulesHaveOneVersion() throws IOException {
        assertThat(Module.named())
                .extracting(Module::version)
                .containsOnly(Module.root().version());
    }

    @Test
    void releaseOfTheBomHasThePluginsOfTheOthers() throws IOException {
        Module root = Module.root();
        Module parent = Module.parent();

        assertThat(Module.bom().profile("release").all("build", "plugins", "plugin"))
                .isNotEmpty()
                .allSatisfy(plugin -> assertThat(plugin.text("version"))
                        .isNotEmpty()
                        .isIn(
                                root.property(plugin.text("artifactId") + ".version"),
                                parent.property(plugin.text("artifactId") + ".version")));
    }

    /** Only there is what a release adds. */
    @ParameterizedTest
    @MethodSource("published")
    void publishedModuleHasTheParentOfWhatIsPublished(Module module) throws IOException {
        assertThat(module.pom().text("parent", "artifactId"))
                .isEqualTo(Module.parent().artifactId());
    }

    @Test
    void releaseGoesToAFolderUnlessToldOtherwise() throws IOException {
        assertThat(Stream.of(Module.root(), Module.bom())
                        .map(module -> module.profile("release").text("properties", "altDeploymentRepository"))
                        .collect(Collectors.toSet()))
                .containsExactly("staging::file://${staging}");
        assertThat(Module.root().pom().all("distributionManagement")).isEmpty();
    }

    static List<Module> published() throws IOException {
        return Module.published();
    }

    /** Otherwise DevTools loads it apart from the others, and their classes are not the same. */
    @Test
    void devToolsRestartEachOfThemWithTheApplication() throws IOException {
        List<Pattern> restarted = restarted();
        assertThat(Module.published().stream()
                        .filter(module -> !module.directory().startsWith("test-kit/"))
                        .filter(module -> Files.exists(
                                Module.PROJECT.resolve(module.directory()).resolve("src/main/java")))
                        .map(module -> "/" + module.artifactId() + "-1.0.0.jar"))
                .isNotEmpty()
                .allMatch(jar ->
                        restarted.stream().anyMatch(jars -> jars.matcher(jar).find()));
    }

    private static List<Pattern> restarted() throws IOException {
        List<Pattern> jars = new ArrayList<>();
        for (Module module : Module.published()) {
            Path file = Module.PROJECT
                    .resolve(module.directory())
                    .resolve("src/main/resources/META-INF/spring-devtools.properties");
            if (Files.exists(file)) {
                Properties properties = new Properties();
                try (Reader reader = Files.newBufferedReader(file)) {
                    properties.load(reader);
                }
                properties.values().forEach(pattern -> jars.add(Pattern.compile(pattern.toString())));
            }
        }
        return jars;
    }
}

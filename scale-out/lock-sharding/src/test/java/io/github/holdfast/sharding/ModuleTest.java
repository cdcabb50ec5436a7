package io.github.holdfast.sharding;

import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the module shows, and what it knows. */
class ModuleTest {

    private final JavaClasses production = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.holdfast.sharding");

    @Test
    void theLocksAndTheRuleAreAllThatUsersSee() {
        assertThat(production.stream().filter(type -> type.getModifiers().contains(PUBLIC)))
                .extracting(JavaClass::getSimpleName)
                .containsExactlyInAnyOrder("ShardedLocks", "Sharding");
    }

    /** So it works without Spring Boot, and knows no SQL and no engine. It asks Spring only for the current transaction. */
    @Test
    void onlyTheConfigurationKnowsMoreThanUsersOfLocks() {
        classes()
                .that()
                .haveNameNotMatching(".*\\.Sharding(AutoConfiguration|Properties)(\\$.*)?")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "io.github.holdfast.sharding",
                        "io.github.holdfast.lock",
                        "io.github.holdfast.service",
                        "jakarta.persistence",
                        "java..",
                        "org.jspecify.annotations",
                        "org.springframework.transaction.support")
                .check(production);
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAPackage("..engine..")
                .check(production);
    }

    @Test
    void noOtherModuleBringsIt() throws Exception {
        for (String module : List.of(
                "lock-service", "spring/lock-spring", "spring/lock-spring-boot-starter", "spring/lock-console")) {
            assertThat(Files.readString(ProjectDirectory.resolve(module + "/pom.xml")))
                    .as(module)
                    .doesNotContain("lock-sharding");
        }
    }
}

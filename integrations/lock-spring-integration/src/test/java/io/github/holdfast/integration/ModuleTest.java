package io.github.holdfast.integration;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
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
            .importPackages("io.github.holdfast.integration");

    @Test
    void theRegistryAndTheInitiatorAreAllThatUsersSee() {
        assertThat(production.stream().filter(type -> type.getModifiers().contains(PUBLIC)))
                .extracting(JavaClass::getSimpleName)
                .containsExactlyInAnyOrder("HoldfastLockRegistry", "HoldfastLeaderInitiator");
    }

    @Test
    void itKnowsWhatUsersOfLocksKnow() {
        classes()
                .should()
                .onlyDependOnClassesThat(are(resideInAnyPackage(
                                "io.github.holdfast.integration",
                                "io.github.holdfast.election",
                                "io.github.holdfast.lock",
                                "io.github.holdfast.service")
                        .or(resideOutsideOfPackage("io.github.holdfast.."))))
                .check(production);
    }

    @Test
    void noOtherModuleBringsIt() throws Exception {
        for (String module : List.of(
                "lock-service", "spring/lock-spring", "spring/lock-spring-boot-starter", "spring/lock-console")) {
            assertThat(Files.readString(ProjectDirectory.resolve(module + "/pom.xml")))
                    .as(module)
                    .doesNotContain("spring-integration");
        }
    }

    @Test
    void onlyTheConfigurationKnowsSpringBoot() {
        noClasses()
                .that(are(not(JavaClass.Predicates.simpleName("LockRegistryAutoConfiguration")
                        .or(JavaClass.Predicates.simpleName("SpringIntegrationProperties")))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.springframework.boot..")
                .check(production);
    }
}

package io.github.holdfast.quorum;

import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** What the module shows, and what it knows. */
class ModuleTest {

    private final JavaClasses production = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.holdfast.quorum");

    @Test
    void usersSeeTheLocksTheirBuilderAndTheTokens() {
        assertThat(production.stream().filter(type -> type.getModifiers().contains(PUBLIC)))
                .extracting(JavaClass::getSimpleName)
                .containsExactlyInAnyOrder("QuorumLocks", "QuorumLocksBuilder", "QuorumToken");
    }

    /** Of the repository it knows only the exception that {@code LockStoreException} needs as its cause. */
    @Test
    void itKnowsWhatUsersOfLocksKnow() {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "io.github.holdfast.quorum",
                        "io.github.holdfast.lock",
                        "io.github.holdfast.service",
                        "io.github.holdfast.repository",
                        "jakarta.persistence",
                        "java..",
                        "org.jspecify.annotations")
                .check(production);
    }
}

package io.github.holdfast.shedlock;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.github.holdfast.repository.ReadableDuration;
import org.junit.jupiter.api.Test;

/** What this module knows: Holdfast's API for applications and ShedLock's core. */
class ModuleDirectionTest {

    private static final String[] BASIC = {
        "io.github.holdfast.shedlock",
        "io.github.holdfast.lock",
        "net.javacrumbs.shedlock.core",
        "net.javacrumbs.shedlock.support",
        "java..",
        "org.slf4j",
        "org.jspecify.annotations"
    };

    private final JavaClasses production = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages(HoldfastLockProvider.class.getPackageName());

    @Test
    void theModuleIsLookedAt() {
        assertThat(production.contain(HoldfastLockProvider.class)).isTrue();
        assertThat(production.contain(ModuleDirectionTest.class)).isFalse();
    }

    /** So it works without Spring Boot, and with any implementation of {@code Locks}. */
    @Test
    void onlyTheAutoConfigurationKnowsSpringAndTheService() {
        classes()
                .that()
                .doNotHaveSimpleName("ShedLockAutoConfiguration")
                .should()
                .onlyDependOnClassesThat(are(resideInAnyPackage(BASIC).or(type(ReadableDuration.class))))
                .check(production);
    }
}

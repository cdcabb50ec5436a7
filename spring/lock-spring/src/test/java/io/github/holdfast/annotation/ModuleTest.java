package io.github.holdfast.annotation;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
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
import org.junit.jupiter.api.Test;

/** What the module shows, and what it knows. */
class ModuleTest {

    private final JavaClasses production = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.holdfast.annotation", "io.github.holdfast.metrics", "io.github.holdfast.event");

    @Test
    void annotationsTheirConfigurationsMetersAndEventsAreAllThatUsersSee() {
        assertThat(production.stream()
                        .filter(JavaClass::isTopLevelClass)
                        .filter(not(resideInAPackage("io.github.holdfast.annotation.method")))
                        .filter(type -> type.getModifiers().contains(PUBLIC)))
                .extracting(JavaClass::getSimpleName)
                .containsExactlyInAnyOrder(
                        "AdviceOrder",
                        "LeaderOnly",
                        "LeaderOnlyConfiguration",
                        "Limited",
                        "Locked",
                        "LockedConfiguration",
                        "ScheduledLock",
                        "ScheduledLockConfiguration",
                        "LockGroup",
                        "LockMeters",
                        "LockObservations",
                        "LeadershipGrantedEvent",
                        "LeadershipRevokedEvent");
    }

    @Test
    void itKnowsWhatUsersOfLocksKnow() {
        classes()
                .should()
                .onlyDependOnClassesThat(are(resideInAnyPackage(
                                "io.github.holdfast.annotation..",
                                "io.github.holdfast.metrics",
                                "io.github.holdfast.event",
                                "io.github.holdfast.election",
                                "io.github.holdfast.lock",
                                "io.github.holdfast.semaphore",
                                "io.github.holdfast.service",
                                "io.github.holdfast.task")
                        .or(resideOutsideOfPackage("io.github.holdfast.."))))
                .check(production);
    }

    /** So it works without Spring Boot, and on each version of it. */
    @Test
    void onlyTheFailureAnalyzerKnowsSpringBoot() {
        noClasses()
                .that()
                .doNotHaveSimpleName("LockAnnotationFailureAnalyzer")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.springframework.boot..")
                .check(production);
    }

    /** Most applications have no Micrometer. */
    @Test
    void onlyMetersAndObservationsKnowMicrometer() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.github.holdfast.metrics")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.micrometer..")
                .check(production);
    }
}

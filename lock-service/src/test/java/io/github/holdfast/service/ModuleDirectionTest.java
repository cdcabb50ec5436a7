package io.github.holdfast.service;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.store.SeparateGuard;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.AcquireResult;
import io.github.holdfast.service.engine.acquire.GrantStep;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.share.PermitRequest;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.test.sources.ProjectDirectory;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.Timer;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Which module may know what: the arrows of the architecture, and the habits that every module keeps. */
class ModuleDirectionTest {

    private static final String OURS = "io.github.holdfast..";
    private static final String ENTITY = "io.github.holdfast.entity..";
    private static final String REPOSITORY = "io.github.holdfast.repository..";
    private static final String LOCK = "io.github.holdfast.lock..";
    private static final String ENGINE = "io.github.holdfast.service.engine..";
    private static final String TASK = "io.github.holdfast.task..";
    private static final String SEMAPHORE = "io.github.holdfast.semaphore..";
    private static final String ELECTION = "io.github.holdfast.election..";
    private static final String SERVICE = "io.github.holdfast.service..";

    /** The rooms of the engine, the lowest first. Row locks know nothing of shares. */
    private static final List<String> ROOMS =
            List.of("runtime", "node", "wait", "row", "tx", "hold", "acquire", "share", "rowlock");

    /** The packages of lock-service. */
    private static final String[] OF_SERVICE = {LOCK, SERVICE, TASK, SEMAPHORE, ELECTION};

    /** The packages of lock-repository, the lowest first. */
    private static final List<String> OF_REPOSITORY = List.of(
            "io.github.holdfast.repository",
            "io.github.holdfast.repository.jdbc",
            "io.github.holdfast.repository.rows",
            "io.github.holdfast.repository.wakeup",
            "io.github.holdfast.repository.store");

    private static final String[] BELOW_SERVICE = {REPOSITORY, ENTITY};

    private static JavaClasses production;

    @BeforeAll
    static void importProductionCode() {
        production = new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .withImportOption(location -> !location.contains("-tests.jar!"))
                .importPackages(
                        "io.github.holdfast.entity",
                        "io.github.holdfast.repository",
                        "io.github.holdfast.lock",
                        "io.github.holdfast.task",
                        "io.github.holdfast.semaphore",
                        "io.github.holdfast.election",
                        "io.github.holdfast.service");
    }

    private static void check(ArchRule rule) {
        rule.check(production);
    }

    @Test
    void allThreeModulesAreLookedAt() {
        assertThat(production.contain(LockEntity.class)).isTrue();
        assertThat(production.contain(LockStore.class)).isTrue();
        assertThat(production.contain(LockRequest.class)).isTrue();
        assertThat(production.contain(LockEngine.class)).isTrue();
        assertThat(production.contain(TaskLock.class)).isTrue();
        assertThat(production.contain(LeaderElection.class)).isTrue();
        assertThat(production.contain(LockService.class)).isTrue();
        assertThat(production.contain(ModuleDirectionTest.class)).isFalse();
    }

    @Test
    void entityKnowsNothingButJpa() {
        check(classes()
                .that()
                .resideInAPackage(ENTITY)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        ENTITY,
                        "java.io",
                        "java.lang..",
                        "java.time..",
                        "java.util",
                        "java.util.function",
                        "java.util.stream",
                        "jakarta.persistence..",
                        "org.hibernate.annotations..",
                        "org.hibernate.type..",
                        "org.jspecify.annotations..")
                .because("its rules are tested without a database, and work in every framework"));
    }

    @Test
    void repositoryKnowsTheEntityOnly() {
        check(classes()
                .that()
                .resideInAPackage(REPOSITORY)
                .should()
                .onlyDependOnClassesThat(
                        are(resideInAnyPackage(REPOSITORY, ENTITY).or(resideOutsideOfPackage(OURS)))));
    }

    @Test
    void repositoryNeverWaitsAndStartsNoThreads() {
        check(
                noClasses()
                        .that()
                        .resideInAPackage(REPOSITORY)
                        .and()
                        .haveNameNotMatching(".*\\.OverdueStatements(\\$.*)?")
                        .should()
                        .dependOnClassesThat(are(resideInAPackage("java.util.concurrent..")
                                .or(type(Thread.class))
                                .or(type(Timer.class))))
                        .orShould()
                        .accessTargetWhere(calling(Object.class, "wait"))
                        .because(
                                "threads, waiting and heartbeats are the service's, but for the thread that cancels statements"));
    }

    @Test
    void serviceKnowsRepositoryAndEntityOnly() {
        check(classes()
                .that()
                .resideInAnyPackage(OF_SERVICE)
                .should()
                .onlyDependOnClassesThat(are(resideInAnyPackage(OF_SERVICE)
                        .or(resideInAnyPackage(BELOW_SERVICE))
                        .or(resideOutsideOfPackage(OURS)))));
    }

    @Test
    void whatUsersImportKnowsNothingOfTheEngine() {
        check(classes()
                .that()
                .resideInAPackage(LOCK)
                .should()
                .onlyDependOnClassesThat(are(resideInAPackage(LOCK)
                        .or(resideInAnyPackage(BELOW_SERVICE))
                        .or(resideOutsideOfPackage(OURS))))
                .because("requests, handles and exceptions are the same whatever keeps the locks"));
    }

    @Test
    void theEngineKnowsNothingOfTasks() {
        check(classes()
                .that()
                .resideInAPackage(ENGINE)
                .should()
                .onlyDependOnClassesThat(are(resideInAnyPackage(ENGINE, LOCK)
                        .or(resideInAnyPackage(BELOW_SERVICE))
                        .or(resideOutsideOfPackage(OURS))))
                .because("tasks are built on locks, as other things may be; their step in the grant is a GrantStep"));
    }

    @Test
    void tasksSemaphoresAndElectionsKnowNothingOfTheService() {
        check(classes()
                .that()
                .resideInAnyPackage(TASK, SEMAPHORE, ELECTION)
                .should()
                .onlyDependOnClassesThat(are(resideInAnyPackage(TASK, SEMAPHORE, ELECTION, ENGINE, LOCK)
                        .or(resideInAnyPackage(BELOW_SERVICE))
                        .or(resideOutsideOfPackage(OURS)))));
    }

    @Test
    void theEngineHasFewDoors() {
        check(noClasses()
                .that()
                .resideInAnyPackage(OF_SERVICE)
                .and()
                .resideOutsideOfPackage(ENGINE)
                .should()
                .dependOnClassesThat(are(resideInAPackage(ENGINE)
                        .and(not(belongToAnyOf(
                                AcquireResult.class,
                                GrantStep.class,
                                LockEngine.class,
                                LogEvent.class,
                                PermitRequest.class,
                                ServiceSettings.class)))))
                .because("this is what the service and tasks need of the engine"));
    }

    @Test
    void roomsOfTheEngineKnowOnlyThoseBefore() {
        for (String room : ROOMS) {
            String[] known = ROOMS.subList(0, ROOMS.indexOf(room) + 1).stream()
                    .filter(other -> !other.equals("share") || !room.equals("rowlock"))
                    .map(ModuleDirectionTest::packageOf)
                    .toArray(String[]::new);
            check(classes()
                    .that()
                    .resideInAPackage(packageOf(room))
                    .should()
                    .onlyDependOnClassesThat(are(resideInAnyPackage(known)
                            .or(resideInAnyPackage(LOCK, REPOSITORY, ENTITY))
                            .or(resideOutsideOfPackage(OURS)))));
        }
    }

    @Test
    void roomsOfTheEngineAreComplete() {
        assertThat(packagesBelow(LockEngine.class.getPackageName() + "."))
                .containsExactlyInAnyOrderElementsOf(
                        ROOMS.stream().map(ModuleDirectionTest::packageOf).toList());
    }

    private static Stream<String> packagesBelow(String prefix) {
        return production.stream()
                .map(JavaClass::getPackageName)
                .filter(name -> name.startsWith(prefix))
                .distinct();
    }

    private static String packageOf(String room) {
        return LockEngine.class.getPackageName() + "." + room;
    }

    @Test
    void theServiceUsesFewTypesOfTheRepository() {
        check(noClasses()
                .that()
                .resideOutsideOfPackage(REPOSITORY)
                .should()
                .dependOnClassesThat(are(resideInAPackage(REPOSITORY)
                        .and(not(describe("arrays", JavaClass::isArray)))
                        .and(not(belongToAnyOf(
                                CommitGuard.class,
                                DatabaseRisk.class,
                                Grant.class,
                                HolderRows.class,
                                LockNodeRepository.class,
                                LockPageRepository.class,
                                LockRows.class,
                                LockRunRepository.class,
                                LockSearchRepository.class,
                                LockSnapshot.class,
                                LockStore.class,
                                ReadableDuration.class,
                                RowTransaction.class,
                                SeparateGuard.class,
                                StoreException.class,
                                TransactionalLockRows.class,
                                WaiterRows.class,
                                WakeUpChannel.class)))))
                .because("this is what the service needs of the store"));
    }

    @Test
    void packagesOfTheRepositoryKnowOnlyThoseBefore() {
        for (int i = 0; i < OF_REPOSITORY.size(); i++) {
            check(classes()
                    .that()
                    .resideInAPackage(OF_REPOSITORY.get(i))
                    .should()
                    .onlyDependOnClassesThat(are(
                            resideInAnyPackage(OF_REPOSITORY.subList(0, i + 1).toArray(String[]::new))
                                    .or(resideInAPackage(ENTITY))
                                    .or(resideOutsideOfPackage(OURS)))));
        }
        assertThat(packagesBelow("io.github.holdfast.repository")).containsExactlyInAnyOrderElementsOf(OF_REPOSITORY);
    }

    /** The classes of most modules are not on the class path of this test, so it reads their sources. */
    @Test
    void nobodyOutsideThisModuleImportsTheEngine() throws IOException {
        String engine = LockEngine.class.getPackageName();
        assertThat(naming(engine + ".", "lock-service"))
                .as("sources of other modules that name the engine, and are not in it")
                .allSatisfy(source -> assertThat(source).content().contains("package " + engine + ";"));
    }

    /** Java shows more than this: the packages of the repository use each other's types. */
    @Test
    void otherModulesKnowOfTheRepositoryWhatApplicationsName() throws IOException {
        Pattern named = Pattern.compile("io\\.github\\.holdfast\\.repository\\.((?:[a-z]\\w*\\.)*[A-Z]\\w*)");
        Set<String> types = new TreeSet<>();
        for (Path source :
                naming("io.github.holdfast.repository.", "lock-service", "lock-repository", "verification")) {
            named.matcher(Files.readString(source))
                    .results()
                    .map(it -> it.group(1))
                    .forEach(types::add);
        }
        assertThat(types)
                .containsExactly(
                        "DatabaseRisk",
                        "DatabaseSetupException",
                        "LockDialect",
                        "LockSchema",
                        "LockTables",
                        "ReadableDuration",
                        "RowGuard",
                        "SqlClock",
                        "StoreException",
                        "UnsupportedDatabaseException",
                        "store.CommitGuard");
    }

    @Test
    void packagesOfTheSpringModulesThatAreNotForApplicationsAreKnownThereOnly() throws IOException {
        for (String hidden : List.of("annotation.method", "autoconfigure.election", "autoconfigure.liquibase")) {
            String module = hidden.startsWith("annotation") ? "lock-spring/src" : "lock-spring-boot";
            assertThat(naming("io.github.holdfast." + hidden))
                    .as(hidden)
                    .isNotEmpty()
                    .filteredOn(source -> !source.toString().contains(module))
                    .filteredOn(source -> !source.endsWith("ModuleDirectionTest.java"))
                    .isEmpty();
        }
    }

    /** The root of the repository is what applications name, and what its other packages need of it. */
    @Test
    void theRootOfTheRepositoryShowsFewTypes() {
        assertThat(production.stream()
                        .filter(type -> type.getPackageName().equals(OF_REPOSITORY.get(0)))
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC) && type.isTopLevelClass())
                        .map(JavaClass::getSimpleName))
                .containsExactlyInAnyOrder(
                        "Changelog",
                        "DatabaseRisk",
                        "DatabaseSetupException",
                        "Grant",
                        "H2LockDialect",
                        "HibernateSessions",
                        "KnownDialects",
                        "LockDialect",
                        "LockSchema",
                        "LockTables",
                        "LockTablesIntegrator",
                        "MappedNames",
                        "MultiClockDatabase",
                        "MysqlLockDialect",
                        "ReadableDuration",
                        "RowGuard",
                        "SqlClock",
                        "SqlErrors",
                        "StoreException",
                        "StoreFunctions",
                        "UnsupportedDatabaseException");
    }

    /** Liquibase runs before there is a persistence unit, and applications without JPA may use its lock too. */
    @Test
    void theLockOfLiquibaseNeedsOnlyTheTables() throws IOException {
        Pattern imported = Pattern.compile(
                "import (io\\.github\\.holdfast|jakarta|org\\.hibernate|org\\.springframework\\.data)[\\w.]*");
        List<String> imports = new ArrayList<>();
        try (Stream<Path> files = Files.walk(ProjectDirectory.resolve("integrations/lock-liquibase/src/main/java"))) {
            for (Path source :
                    files.filter(file -> file.toString().endsWith(".java")).toList()) {
                imported.matcher(Files.readString(source))
                        .results()
                        .map(MatchResult::group)
                        .forEach(imports::add);
            }
        }
        assertThat(imports)
                .filteredOn(name -> !name.startsWith("import io.github.holdfast.liquibase."))
                .containsOnly(
                        "import io.github.holdfast.repository.LockSchema",
                        "import io.github.holdfast.repository.ReadableDuration");
    }

    /** The sources that contain a text, but for those of some directories at the top. */
    private static List<Path> naming(String text, String... besides) throws IOException {
        Path root = ProjectDirectory.resolve("");
        List<Path> found = new ArrayList<>();
        for (Path source : ProjectDirectory.files(".java")) {
            String directory = root.relativize(source).getName(0).toString();
            if (!List.of(besides).contains(directory)
                    && Files.readString(source).contains(text)) {
                found.add(source);
            }
        }
        return found;
    }

    @Test
    void serviceKnowsNoSql() {
        check(noClasses()
                .that()
                .resideInAnyPackage(OF_SERVICE)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "java.sql..",
                        "org.hibernate..",
                        "org.springframework.jdbc..",
                        "org.springframework.orm..",
                        "org.springframework.data..",
                        "org.springframework.dao.."));
        check(noClasses()
                .that()
                .resideInAnyPackage(OF_SERVICE)
                .and(are(not(belongToAnyOf(LockServiceBuilder.class))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("javax.sql.."));
    }

    @Test
    void serviceKnowsOfJpaOnlyWhatUsersGiveIt() {
        check(noClasses()
                .that()
                .resideInAnyPackage(OF_SERVICE)
                .should()
                .dependOnClassesThat(are(resideInAPackage("jakarta.persistence..")
                        .and(not(type(EntityManagerFactory.class)))
                        .and(not(type(EntityManager.class))))));
        check(noClasses()
                .that()
                .resideInAnyPackage(OF_SERVICE)
                .and(are(not(
                        belongToAnyOf(LockService.class, LockServiceBuilder.class, LockHandle.class, Leadership.class)
                                .or(simpleName("Term"))
                                .or(simpleName("Handle"))
                                .or(simpleName("Hold"))
                                .or(simpleName("GrantedHold"))
                                .or(simpleName("LeaseHold"))
                                .or(simpleName("RowHold"))
                                .or(simpleName("TransactionGuard")))))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("jakarta.persistence.."));
    }

    @Test
    void packagesHaveNoCycles() {
        check(slices().matching("io.github.holdfast.(**)").should().beFreeOfCycles());
    }

    @Test
    void publicClassesAreNotMadeToBeExtended() {
        check(
                classes()
                        .that()
                        .arePublic()
                        .and()
                        .resideOutsideOfPackage(ENGINE)
                        .and()
                        .areNotInterfaces()
                        .and(are(not(belongToAnyOf(
                                LockEntity.class,
                                LockNode.class,
                                LockAudit.class,
                                LockRun.class,
                                LockHolder.class,
                                LockDialect.class))))
                        .should(beFinalOrSealed())
                        .because(
                                "extension happens through interfaces; JPA extends the entities, and others extend the dialect"));
    }

    @Test
    void nobodyAsksTheLocalClockWhatTimeItIs() {
        check(noClasses()
                .that(are(not(belongToTicker())))
                .should()
                .accessTargetWhere(calling(System.class, "currentTimeMillis")
                        .or(calling(Date.class, "<init>"))
                        .or(calling(Calendar.class, "getInstance"))
                        .or(accessing(
                                "a java.time...now()",
                                target -> target.getName().equals("now")
                                        && target.getOwner().getPackageName().startsWith("java.time"))))
                .orShould()
                .dependOnClassesThat()
                .belongToAnyOf(Clock.class)
                .because(
                        "only the database's clock decides which lease is over; the ticker compares the wall clock with the"
                                + " monotonic one, to notice that the machine was suspended"));
    }

    @Test
    void onlyTheTickerMeasuresTimeAndSleeps() {
        check(noClasses()
                .should()
                .accessTargetWhere(calling(Thread.class, "sleep"))
                .because("it takes a bare number; TimeUnit.sleep says of what"));
        check(noClasses()
                .that(are(not(belongToTicker()
                        .or(nameMatching(".*\\.JpaLockRows(\\$.*)?"))
                        .or(simpleName("ConnectionEviction")))))
                .should()
                .accessTargetWhere(calling(TimeUnit.class, "sleep")
                        .or(calling(System.class, "nanoTime"))
                        .or(accessing(
                                "a LockSupport.park...()",
                                target -> target.getName().startsWith("park")
                                        && target.getOwner().isEquivalentTo(LockSupport.class))))
                .because(
                        "tests let time pass through it; the repository only tells a write that waited from one that did not, and"
                                + " limits how often connections are thrown out"));
    }

    @Test
    void namesSayWhatAClassDoes() {
        check(noClasses()
                .should()
                .haveNameMatching(".*(Impl|Manager|Utils?|Helper)")
                .because("name the job, or put the method where its data is"));
    }

    /** The ticker and its anonymous classes. */
    private static DescribedPredicate<JavaClass> belongToTicker() {
        return describe("belong to the ticker", type -> type.getName().matches(".*\\.Ticker(\\$.*)?"));
    }

    private static DescribedPredicate<JavaAccess<?>> calling(Class<?> owner, String name) {
        return accessing(
                owner.getSimpleName() + "." + name,
                target -> target.getName().equals(name) && target.getOwner().isAssignableTo(owner));
    }

    private static DescribedPredicate<JavaAccess<?>> accessing(String what, Predicate<AccessTarget> target) {
        return describe("calls " + what, access -> target.test(access.getTarget()));
    }

    private static ArchCondition<JavaClass> beFinalOrSealed() {
        return new ArchCondition<>("be final or sealed") {
            @Override
            public void check(JavaClass type, ConditionEvents events) {
                boolean closed = type.getModifiers().contains(JavaModifier.FINAL)
                        || type.reflect().isSealed();
                events.add(new SimpleConditionEvent(
                        type,
                        closed,
                        type.getDescription() + (closed ? " is final or sealed" : " is neither final nor sealed")));
            }
        };
    }
}

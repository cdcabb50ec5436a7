package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.CrashPoints.Breaks;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The connection breaks in each public call that asks the database. Which these are nobody has to remember: it is all that are not
 * said here to ask nothing, and those that can be called without a reason to ask are called.
 */
@OnDatabase(TestDatabase.H2_MEMORY)
class CrashPointCoverageTest {

    private static final List<Class<?>> TESTS = List.of(
            NodeCrashPointTest.class,
            HolderCrashPointTest.class,
            TransactionCrashPointTest.class,
            RowCrashPointTest.class,
            AdminCrashPointTest.class,
            SemaphoreCrashPointTest.class,
            SharedLockCrashPointTest.class,
            ElectionCrashPointTest.class);

    /** The interfaces that are not for users to implement. The service and its handles implement them. */
    private static final Set<Class<?>> IMPLEMENTED = Set.of(Locks.class, LockHandle.class, Leadership.class);

    /** They say what is wanted, to a service that is not there yet or is asked later. */
    private static final Set<Class<?>> WISHES =
            Set.of(LockRequest.class, SemaphoreRequest.class, TaskRequest.class, ElectionRequest.class);

    /** They tell what is known in the process, make an object, or let another thread do what asks. */
    private static final Set<String> ASKING_NOTHING = Set.of(
            "Elections.close()",
            "Elections.election(ElectionRequest)",
            "Elections.isLeader(LeaderInfo)",
            "Elections.names()",
            "Elections.of(LockEngine)",
            "Elections.reopen()",
            "Elections.stop()",
            "LeaderElection.close()",
            "LeaderElection.isLeader()",
            "LeaderElection.leadership()",
            "LeaderElection.name()",
            "LeaderElection.resign()",
            "LeaderElection.start()",
            "LeaderElection.start(LeaderCallbacks)",
            "Leadership.isOver()",
            "Leadership.name()",
            "Leadership.remaining()",
            "Leadership.term()",
            "LockAdmin.clockStep()",
            "LockAdmin.dropped()",
            "LockAdmin.kept()",
            "LockAdmin.heartbeatAge()",
            "LockAdmin.process()",
            "LockAdmin.semaphores()",
            "LockAdmin.waiters()",
            "LockAdmin.waiting()",
            "LockHandle.detach()",
            "LockHandle.fencingToken()",
            "LockHandle.holdCount()",
            "LockHandle.isFenced()",
            "LockHandle.mode()",
            "LockHandle.name()",
            "LockHandle.onLost(Consumer)",
            "LockHandle.owner()",
            "LockHandle.remaining()",
            "LockHandle.state()",
            "LockHandles.handle(String)",
            "LockHandles.handles()",
            "LockHandles.of(List)",
            "LockHandles.remaining()",
            "LockService.admin()",
            "LockService.asLock(String)",
            "LockService.asReadWriteLock(String)",
            "LockService.builder(EntityManagerFactory)",
            "LockService.election(ElectionRequest)",
            // On PostgreSQL it asks, and goes on without an answer: ReopenTest.
            "LockService.reopen()",
            "LockService.semaphore(SemaphoreRequest)",
            "LockService.task(TaskRequest)",
            "LockView.newCondition()",
            "Semaphore.name()",
            "Semaphore.of(LockEngine, SemaphoreRequest)",
            "TaskLock.of(LockEngine, TaskRequest)",
            "TaskLock.name()");

    /** Everything but {@code build()} only sets what it is to be built with. */
    private static boolean isSetting(Method method) {
        return method.getDeclaringClass() == LockServiceBuilder.class
                && method.getReturnType() == LockServiceBuilder.class;
    }

    private static boolean isImplementedByService(Method method) {
        return method.getDeclaringClass() == Locks.class && Modifier.isAbstract(method.getModifiers());
    }

    /** Values, and what users implement, have no service to ask through. */
    private static boolean mayAsk(Class<?> type) {
        return (!type.isInterface() || IMPLEMENTED.contains(type))
                && !type.isRecord()
                && !type.isEnum()
                && !Throwable.class.isAssignableFrom(type)
                && !WISHES.contains(type);
    }

    private static Set<String> callsOf(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .filter(method -> !method.getName().equals("toString") && !isSetting(method))
                .filter(method -> !isImplementedByService(method))
                .map(method ->
                        BorrowedConnections.describe(type, method.getName(), List.of(method.getParameterTypes())))
                .collect(Collectors.toSet());
    }

    @Test
    void theConnectionBreaksInEachCallThatAsksTheDatabase() {
        Set<String> calls = Stream.concat(
                        PublicApiTest.publicTypes().stream().filter(CrashPointCoverageTest::mayAsk),
                        Stream.of(LockView.class))
                .flatMap(type -> callsOf(type).stream())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(calls).as("what is said to ask nothing is there").containsAll(ASKING_NOTHING);
        calls.removeAll(ASKING_NOTHING);

        Set<String> broken = TESTS.stream()
                .flatMap(test -> Arrays.stream(test.getDeclaredMethods()))
                .filter(test -> test.isAnnotationPresent(Breaks.class))
                .flatMap(test -> Arrays.stream(test.getAnnotation(Breaks.class).value()))
                .collect(Collectors.toSet());
        assertThat(calls)
                .as("what asks the database: break it in a test, or say that it asks nothing")
                .isNotEmpty()
                .containsExactlyInAnyOrderElementsOf(broken);
    }

    @Test
    void whatIsSaidToAskNothingDoesNot(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            CountingDataSource counting = new CountingDataSource(database.dataSource());
            LockService locks = services.patientlyOpenOver(counting);
            LockHandles held = locks.acquireAll(
                    List.of(LockRequest.of("by node"), LockRequest.of("by row").rowLock()));
            counting.reset();

            LockAdmin admin = locks.admin();
            assertThat(List.of(
                            admin.clockStep(),
                            admin.heartbeatAge(),
                            admin.process(),
                            admin.semaphores(),
                            admin.waiters(),
                            admin.waiting()))
                    .isNotEmpty();
            for (LockHandle lock : held.handles()) {
                LockHandle detached = lock.onLost(lost -> {}).detach();
                assertThat(List.of(detached.name(), detached.owner(), detached.holdCount(), detached.isFenced()))
                        .isNotEmpty();
                assertThat(detached.state()).isEqualTo(LockState.HELD);
                assertThat(detached.remaining()).isPositive();
            }
            assertThat(held.handle("by node").orElseThrow().fencingToken()).isPositive();
            assertThat(held.remaining()).isPositive();
            assertThat(LockHandles.of(held.handles()).handles()).isEqualTo(held.handles());
            assertThat(locks.asLock("by node").toString()).contains("by node");
            assertThat(locks.task(TaskRequest.of("task").minimumHold(CrashPoints.SOON))
                            .name())
                    .isEqualTo("task");
            assertThat(locks.semaphore(SemaphoreRequest.of("semaphore").limit(2))
                            .name())
                    .isEqualTo("semaphore");
            LeaderElection election = locks.election(ElectionRequest.of("election"));
            election.resign();
            assertThat(election.isLeader() || election.leadership().isPresent()).isFalse();
            assertThat(election.name()).isEqualTo("election");
            election.close();

            assertThat(counting.sql()).isEmpty();
            held.close();
        }
    }
}

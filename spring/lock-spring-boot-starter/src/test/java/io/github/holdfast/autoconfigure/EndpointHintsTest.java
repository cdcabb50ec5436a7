package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.lang.reflect.RecordComponent;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** Each record in the endpoint's real answers can be read in a native image. */
@OnDatabase(TestDatabase.H2_MEMORY)
class EndpointHintsTest {

    @Test
    void recordsOfAnswersAreKnown(Database database) throws Exception {
        RuntimeHints hints = new RuntimeHints();
        new EndpointHints().registerHints(hints, null);
        Set<Class<?>> records = answered(database);
        assertThat(records).hasSizeGreaterThan(5);
        assertThat(records).allSatisfy(type -> {
            for (RecordComponent component : type.getRecordComponents()) {
                assertThat(hints)
                        .as("%s", component)
                        .matches(RuntimeHintsPredicates.reflection().onMethodInvocation(component.getAccessor()));
            }
        });
    }

    private static Set<Class<?>> answered(Database database) throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();
        Set<Class<?>> records = new LinkedHashSet<>();
        try (AnnotationConfigWebApplicationContext context = EndpointApplication.start(database, Map.of())) {
            LockService locks = context.getBean(LockService.class);
            LocksEndpoint endpoint = context.getBean(LocksEndpoint.class);
            try (LockHandle lock = locks.acquire(LockRequest.of("lock"));
                    LockHandle permit = locks.semaphore(
                                    SemaphoreRequest.of("permits").limit(2))
                            .acquire();
                    LeaderElection election = locks.election(ElectionRequest.of("election"))) {
                election.runAsLeader(term -> {
                    addRecords(endpoint.some("held", "lock", null, null), records);
                    addRecords(endpoint.some("semaphores", "permits", null, null), records);
                    for (String what : List.of("held", "elections", "nodes", "runs", "semaphores")) {
                        addRecords(endpoint.some(what, null, null, null), records);
                    }
                });
            }
        }
        return records;
    }

    private static void addRecords(@Nullable Object answer, Set<Class<?>> records) throws ReflectiveOperationException {
        if (answer instanceof Collection<?> several) {
            for (Object one : several) {
                addRecords(one, records);
            }
        } else if (answer instanceof Record record) {
            records.add(record.getClass());
            for (RecordComponent component : record.getClass().getRecordComponents()) {
                addRecords(component.getAccessor().invoke(record), records);
            }
        }
    }
}

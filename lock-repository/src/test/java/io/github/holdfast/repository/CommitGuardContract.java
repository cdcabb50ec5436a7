package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManager;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.hibernate.Session;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the guard of a commit does to rows. */
abstract class CommitGuardContract {

    private static final Duration LEASE = Duration.ofMinutes(5);

    private Database database;
    private TestApplication application;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
        database.execute("delete from distributed_lock");
    }

    @AfterEach
    void close() {
        application.close();
    }

    private CommitGuard guard() {
        return CommitGuard.of(application.entityManagerFactory(), null);
    }

    /** In a transaction at this level, which is committed. */
    private void inTransaction(int isolation, Consumer<EntityManager> work) {
        try (EntityManager entityManager = application.entityManagerFactory().createEntityManager()) {
            entityManager.unwrap(Session.class).doWork(connection -> connection.setTransactionIsolation(isolation));
            entityManager.getTransaction().begin();
            try {
                work.accept(entityManager);
                entityManager.getTransaction().commit();
            } finally {
                if (entityManager.getTransaction().isActive()) {
                    entityManager.getTransaction().rollback();
                }
            }
        }
    }

    private Grant granted(String name) {
        return Grant.of(application.grant(name, "me", LEASE));
    }

    /** MariaDB 10.11 and 11.4 read the whole table for a few names of a small one, and lock what they read. */
    @ParameterizedTest
    @CsvSource({"1, 6", "4, 6", "5, 6", "5, 12", "10, 30", "12, 12", "50, 200"})
    void onlyTheRowsOfTheGrantsAreLocked(int held, int rows) {
        List<Grant> grants = new ArrayList<>(IntStream.range(0, held)
                .mapToObj(i -> granted("job " + (100 + i) + " held"))
                .toList());
        Collections.reverse(grants);
        database.execute(IntStream.range(held, rows)
                .mapToObj(i -> "insert into distributed_lock (name, hold_count, fencing_token, version) values ('job "
                        + (100 + i) + " other', 0, 1, 1)")
                .toArray(String[]::new));
        inTransaction(Connection.TRANSACTION_REPEATABLE_READ, entityManager -> {
            assertThat(guard().check(grants, entityManager)).isEmpty();
            try (OtherClient other = OtherClient.of(database)) {
                other.execute(TestSql.waitForRowsAtMost(database.kind(), Duration.ofSeconds(1)));
                for (int i = held; i < rows; i++) {
                    other.execute(TestSql.touch("job " + (100 + i) + " other"));
                }
                for (int i = 0; i < rows; i++) {
                    other.execute(
                            "insert into distributed_lock (name, hold_count, fencing_token, version) values ('job "
                                    + (100 + i) + " in the gap', 0, 1, 1)");
                }
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }
}

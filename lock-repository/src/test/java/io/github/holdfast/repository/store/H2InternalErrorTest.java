package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import org.h2.api.Trigger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A trigger fails with the code that H2 gives to any exception inside of it. */
@OnDatabase(TestDatabase.H2_MEMORY)
class H2InternalErrorTest {

    private TestApplication application;

    @BeforeEach
    void open(Database database) {
        application = TestApplication.on(database);
        Stumbling.times.set(0);
        database.execute("create trigger stumbling before insert on distributed_lock for each row call \""
                + Stumbling.class.getName() + "\"");
    }

    @AfterEach
    void close(Database database) {
        database.execute("drop trigger stumbling");
        application.close();
    }

    @Test
    void workIsRunAgain() {
        Stumbling.times.set(2);
        assertThat(application.create("job").owner()).isNull();
        assertThat(Stumbling.times).hasValue(0);
    }

    @Test
    void whatDoesNotPassIsReported() {
        Stumbling.times.set(4);
        assertThatExceptionOfType(StoreException.class)
                .isThrownBy(() -> application.create("job"))
                .satisfies(thrown -> assertThat(thrown.failure()).isEqualTo(Failure.CONFLICT));
        assertThat(Stumbling.times).hasValue(1);
    }

    /** Public, because H2 makes it. */
    public static final class Stumbling implements Trigger {

        static final AtomicInteger times = new AtomicInteger();

        @Override
        public void fire(Connection connection, Object @Nullable [] before, Object @Nullable [] after)
                throws SQLException {
            if (times.getAndUpdate(left -> Math.max(left - 1, 0)) > 0) {
                throw new SQLException("General error", "HY000", 50000);
            }
        }
    }
}

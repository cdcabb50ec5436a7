package io.github.holdfast.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Runs a top-level test class once on each kind of database. The system property {@code holdfast.test.usual-databases} restricts
 * this to some kinds, or to the first if it names none of the class. Classes with the tag {@link #EVERYWHERE} ignore it, and so do all if
 * {@code holdfast.test.databases} selects kinds.
 *
 * <p> Each run is as if the class were the only one and had {@link OnDatabase}: it
 * has a separate database, its own {@code @BeforeAll} and {@code @AfterAll}, and is skipped or fails if its server cannot start.
 *
 * <pre>{@code
 * @OnEachDatabase
 * class LockTest {
 *     LockTest(Database database) { ... }
 *
 *     @Test
 *     void oneOfTwoAcquires() { ... }
 * }
 * }</pre>
 *
 * <p>Reports name the runs {@code LockTest[h2_memory]}, {@code LockTest[postgresql]} and so on.
 *
 * <p>It is not a {@code @ClassTemplate}. JUnit would call {@code @BeforeAll} once for all databases, and surefire would take the
 * runs of a test for repetitions of one test, which count once if one of them fails or is skipped.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(OnDatabaseExtension.class)
@Tag("each-database")
public @interface OnEachDatabase {

    /** The tag of a class that runs on all its kinds in each build. */
    String EVERYWHERE = "every-database";

    /**
     * Returns the kinds of database. The default is one of each. Tests that break connections or start other processes need
     * {@link TestDatabase#H2_TCP} instead of {@link TestDatabase#H2_MEMORY}.
     *
     * @return the kinds, in the order of the runs
     */
    TestDatabase[] value() default {
        TestDatabase.H2_MEMORY, TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL
    };
}

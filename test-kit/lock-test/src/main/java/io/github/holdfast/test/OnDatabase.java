package io.github.holdfast.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Runs a test class on a separate database, and drops the database after the class.
 *
 * <p>Constructors, test methods and life-cycle methods can have a {@link Database} parameter, and so can inherited methods. All
 * get the same database. A nested class uses the database of its outer class unless it has its own annotation. If the server
 * cannot start, the class is skipped with the reason; with the environment variable {@code CI=true} it fails. At its end, the run
 * prints the number of tests on each database.
 *
 * <pre>{@code
 * class LockTest {
 *     @Nested
 *     @OnDatabase(TestDatabase.POSTGRESQL)
 *     class OnPostgres extends LockContract {}
 * }
 * }</pre>
 */
@Documented
@Inherited
@Target({ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(OnDatabaseExtension.class)
public @interface OnDatabase {

    /**
     * Returns the kind of database.
     *
     * @return the kind
     */
    TestDatabase value();
}

package io.github.holdfast.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Runs a test class on a database of its own, which is dropped after the class.
 *
 * <p>Constructors, test methods and life-cycle methods, inherited ones included, can have a {@link Database} parameter; all get
 * the same database. A nested class has its outer class's database unless it is annotated itself. Where the server cannot
 * start, the class is skipped with the reason; with the environment variable {@code CI=true} it fails. The run ends with a
 * line that says how many tests ran on which database (see {@link DatabaseCoverage}).
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
     * The kind of database.
     *
     * @return the kind
     */
    TestDatabase value();
}

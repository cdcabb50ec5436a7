package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Method;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/**
 * The same as {@link HoldfastLocks}, with the Holdfast of whatever commit is on the class path. It refers to no type of Holdfast, because
 * these have been in other packages. Reflection costs less than a thousandth of a cycle.
 */
final class CommitLocks implements Contestant {

    private final EntityManagerFactory unit;
    private final AutoCloseable locks;
    private final Method request;
    private final Method acquire;
    private final Method release;

    /** Opens a service. Creates its tables if they are missing. */
    CommitLocks(HikariDataSource pool) throws ReflectiveOperationException {
        Object schema = Class.forName("io.github.holdfast.repository.LockSchema")
                .getMethod("on", DataSource.class)
                .invoke(null, pool);
        call(schema, "createIfMissing");
        unit = new HibernatePersistenceConfiguration("benchmark")
                .mappingFile("META-INF/holdfast-orm.xml")
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                .createEntityManagerFactory();
        Class<?> service = Class.forName("io.github.holdfast.service.LockService");
        Object builder =
                service.getMethod("builder", EntityManagerFactory.class).invoke(null, unit);
        locks = (AutoCloseable) call(call(builder, "withoutHousekeeping"), "build");
        acquire = Stream.of(service.getMethods())
                .filter(method -> method.getName().equals("acquire"))
                .findAny()
                .orElseThrow();
        request = acquire.getParameterTypes()[0].getMethod("of", String.class);
        release = acquire.getReturnType().getMethod("release");
    }

    private static Object call(Object target, String method) throws ReflectiveOperationException {
        return target.getClass().getMethod(method).invoke(target);
    }

    @Override
    public Held acquire(String name) throws ReflectiveOperationException {
        Object handle = acquire.invoke(locks, request.invoke(null, name));
        return () -> release.invoke(handle);
    }

    @Override
    public void close() {
        try {
            locks.close();
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        } finally {
            unit.close();
        }
    }
}

package io.github.holdfast.autoconfigure;

import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;

/** The connections that only lock operations use, if there are any: of a bean that is marked, or of {@code holdfast.datasource.*}. */
final class LockConnections {

    private final ObjectProvider<DataSource> marked;
    private final ObjectProvider<LockPool> pool;

    LockConnections(ObjectProvider<DataSource> marked, ObjectProvider<LockPool> pool) {
        this.marked = marked;
        this.pool = pool;
    }

    @Nullable
    DataSource orElse(Supplier<@Nullable DataSource> others) {
        DataSource bean = marked.getIfAvailable();
        if (bean != null) {
            return bean;
        }
        LockPool own = pool.getIfAvailable();
        return own != null ? own.dataSource() : others.get();
    }
}

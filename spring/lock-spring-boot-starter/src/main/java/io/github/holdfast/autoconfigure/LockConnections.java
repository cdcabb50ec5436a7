package io.github.holdfast.autoconfigure;

import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;

/**
 * The separate connections for lock operations, if any. They come from an annotated bean, or from {@code holdfast.datasource.*}.
 */
final class LockConnections {

    private final ObjectProvider<DataSource> marked;
    private final ObjectProvider<LockPool> pool;

    LockConnections(ObjectProvider<DataSource> marked, ObjectProvider<LockPool> pool) {
        this.marked = marked;
        this.pool = pool;
    }

    /** Where the connections of lock operations come from. */
    enum Kind {
        APPLICATION,
        OWN_POOL,
        BEAN
    }

    Kind kind() {
        if (marked.getIfAvailable() != null) {
            return Kind.BEAN;
        }
        return pool.getIfAvailable() != null ? Kind.OWN_POOL : Kind.APPLICATION;
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

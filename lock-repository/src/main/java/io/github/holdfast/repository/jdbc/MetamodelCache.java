package io.github.holdfast.repository.jdbc;

import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.util.ClassUtils;

/**
 * Clears Spring Data's static cache of metamodels. The cache refers to every persistence unit that has a repository, even after
 * the unit is closed, and so keeps it in memory. A bean of Spring Data clears the cache when an application context ends. But a
 * store may exist without such a context.
 */
public final class MetamodelCache {

    public static final String CLEANUP = "org.springframework.data.jpa.util.JpaMetamodelCacheCleanup";

    private MetamodelCache() {}

    /** Clears the cache. Spring Data fills it again when it creates another repository. */
    public static void clear() {
        ClassLoader loader = MetamodelCache.class.getClassLoader();
        if (ClassUtils.isPresent(CLEANUP, loader)
                && BeanUtils.instantiateClass(ClassUtils.resolveClassName(CLEANUP, loader))
                        instanceof DisposableBean cleanup) {
            destroy(cleanup);
        }
    }

    private static void destroy(DisposableBean cleanup) {
        try {
            cleanup.destroy();
        } catch (Exception unexpected) {
            throw new IllegalStateException("Spring Data's cache of metamodels could not be cleared", unexpected);
        }
    }
}

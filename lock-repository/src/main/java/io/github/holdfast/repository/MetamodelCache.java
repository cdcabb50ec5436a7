package io.github.holdfast.repository;

import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.util.ClassUtils;

/**
 * Spring Data keeps what it knows of each persistence unit that it made a repository for in a static map, and with it the unit after
 * that was closed. A bean of its own clears the map when an application context ends; a store may have none.
 */
final class MetamodelCache {

    private static final String CLEANUP = "org.springframework.data.jpa.util.JpaMetamodelCacheCleanup";

    private MetamodelCache() {}

    /** It is filled again when it is needed: for repositories that are made later. */
    static void clear() {
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

package io.github.holdfast.repository.store;

import java.util.Map;

/**
 * The tables behind a store, which a test changes without the store: what an operator, another process or the time would do. They have
 * the names of entities and attributes, so that they are those of a double too.
 */
public interface TestTables {

    void insert(String entity, Map<String, ?> values);

    /** Returns how many rows it has changed. */
    int update(String entity, Map<String, ?> changes, Map<String, ?> where);

    default int update(String entity, Map<String, ?> changes) {
        return update(entity, changes, Map.of());
    }

    /** Returns how many rows it has deleted. */
    int delete(String entity, Map<String, ?> where);

    default int delete(String entity) {
        return delete(entity, Map.of());
    }

    long count(String entity, Map<String, ?> where);

    default long count(String entity) {
        return count(entity, Map.of());
    }

    default void clear() {
        for (String entity : new String[] {"Lock", "Node", "Holder", "Waiter", "Run", "Audit"}) {
            delete("Holdfast" + entity);
        }
    }
}

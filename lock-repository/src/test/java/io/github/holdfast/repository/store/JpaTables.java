package io.github.holdfast.repository.store;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Query;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The tables of a database, by the names of a persistence unit. */
public final class JpaTables implements TestTables {

    private final EntityManagerFactory unit;

    public JpaTables(EntityManagerFactory unit) {
        this.unit = unit;
    }

    @Override
    public void insert(String entity, Map<String, ?> values) {
        int unused = execute(
                "insert into " + entity + " (" + String.join(", ", values.keySet()) + ") values ("
                        + values.keySet().stream().map(":"::concat).collect(Collectors.joining(", ")) + ")",
                values);
    }

    @Override
    public int update(String entity, Map<String, ?> changes, Map<String, ?> where) {
        String set = changes.entrySet().stream()
                .map(change -> change.getKey() + " = " + (change.getValue() == null ? "null" : ":" + change.getKey()))
                .collect(Collectors.joining(", "));
        return execute("update " + entity + " set " + set + condition(where), changes, where);
    }

    @Override
    public int delete(String entity, Map<String, ?> where) {
        return execute("delete from " + entity + condition(where), Map.of(), where);
    }

    @Override
    public long count(String entity, Map<String, ?> where) {
        return inTransaction(entityManager -> {
            Query query = entityManager.createQuery("select count(*) from " + entity + condition(where));
            bind(query, "where_", where);
            return (Long) query.getSingleResult();
        });
    }

    private static String condition(Map<String, ?> where) {
        return where.keySet().stream()
                .map(name -> name + " = :where_" + name)
                .collect(Collectors.joining(" and ", where.isEmpty() ? "" : " where ", ""));
    }

    private int execute(String hql, Map<String, ?> values) {
        return execute(hql, values, Map.of());
    }

    private int execute(String hql, Map<String, ?> values, Map<String, ?> where) {
        return inTransaction(entityManager -> {
            Query query = entityManager.createQuery(hql);
            bind(query, "", values);
            bind(query, "where_", where);
            return query.executeUpdate();
        });
    }

    private static void bind(Query query, String prefix, Map<String, ? extends @Nullable Object> values) {
        values.forEach((name, value) -> {
            if (value != null) {
                query.setParameter(prefix + name, value);
            }
        });
    }

    private <T> T inTransaction(Function<EntityManager, T> work) {
        EntityManager entityManager = unit.createEntityManager();
        try {
            entityManager.getTransaction().begin();
            T result = work.apply(entityManager);
            entityManager.getTransaction().commit();
            return result;
        } finally {
            if (entityManager.getTransaction().isActive()) {
                entityManager.getTransaction().rollback();
            }
            entityManager.close();
        }
    }
}

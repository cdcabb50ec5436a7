package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.WaiterRows.Ticket;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.TestTables;
import jakarta.persistence.Entity;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The tables of {@link InMemoryDatabase}, by the names of the entities and their fields. */
final class InMemoryTables implements TestTables {

    private final InMemoryDatabase database;
    private final Map<String, InMemoryTable<?>> tables;

    InMemoryTables(InMemoryDatabase database) {
        this.database = database;
        tables = Map.of(
                "HoldfastLock", database.locks,
                "HoldfastNode", database.nodes,
                "HoldfastHolder", database.holders,
                "HoldfastRun", database.runs,
                "HoldfastAudit", database.audits,
                "HoldfastWaiter", database.waiters);
    }

    @Override
    public void insert(String entity, Map<String, ?> values) {
        if (entity.equals("HoldfastWaiter")) {
            behind(() -> {
                database.waiters.put(ticket(values));
                return 1;
            });
            return;
        }
        Class<?> type = LockEntity.ENTITIES.stream()
                .filter(each -> each.getAnnotation(Entity.class).name().equals(entity))
                .findFirst()
                .orElseThrow();
        insert(table(entity), type, values);
    }

    private static Ticket ticket(Map<String, ?> values) {
        return new Ticket(
                text(values, "name"),
                (Long) Objects.requireNonNull(values.get("since")),
                text(values, "id"),
                text(values, "nodeId"),
                Stream.of(WaitMode.values())
                        .filter(mode -> mode.code().equals(values.get("mode")))
                        .findFirst()
                        .orElseThrow(),
                Boolean.TRUE.equals(values.get("fair")));
    }

    private static String text(Map<String, ?> values, String name) {
        return (String) Objects.requireNonNull(values.get(name));
    }

    @SuppressWarnings("unchecked")
    private <R> void insert(InMemoryTable<R> table, Class<?> type, Map<String, ?> values) {
        behind(() -> {
            table.put((R) with(Row.of(type), values));
            return 1;
        });
    }

    @Override
    public int update(String entity, Map<String, ?> changes, Map<String, ?> where) {
        return update(table(entity), changes, where);
    }

    private <R> int update(InMemoryTable<R> table, Map<String, ?> changes, Map<String, ?> where) {
        return behind(() -> {
            List<R> rows = table.where(matches(where)).toList();
            rows.forEach(row -> table.put(with(Row.like(row), changes)));
            return rows.size();
        });
    }

    @Override
    public int delete(String entity, Map<String, ?> where) {
        return behind(() -> table(entity).delete(matches(where)));
    }

    @Override
    public long count(String entity, Map<String, ?> where) {
        return behind(() -> table(entity).where(matches(where)).count());
    }

    private static <R> R with(Row<R> row, Map<String, ?> values) {
        values.forEach((name, value) -> {
            Row<R> unused = row.with(name, value);
        });
        return row.made();
    }

    private <T> T behind(Supplier<T> work) {
        return database.transaction(null, work);
    }

    private InMemoryTable<?> table(String entity) {
        return Optional.<InMemoryTable<?>>ofNullable(tables.get(entity)).orElseThrow();
    }

    private static <R> Predicate<R> matches(Map<String, ?> where) {
        return row ->
                where.entrySet().stream().allMatch(wanted -> wanted.getValue().equals(Row.get(row, wanted.getKey())));
    }
}

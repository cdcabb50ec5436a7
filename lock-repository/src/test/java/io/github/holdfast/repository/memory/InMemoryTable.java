package io.github.holdfast.repository.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A table of {@link InMemoryDatabase}: rows in the order of their keys. Rows are values. Only the transaction whose turn it is uses
 * the table.
 *
 * @param <R> a row
 */
final class InMemoryTable<R> {

    private final TreeMap<RowKey, R> rows = new TreeMap<>();
    private final Function<R, RowKey> key;
    private final Consumer<Runnable> undo;

    /**
     * Creates an empty table.
     *
     * @param undo receives what takes each change back
     */
    InMemoryTable(Function<R, RowKey> key, Consumer<Runnable> undo) {
        this.key = key;
        this.undo = undo;
    }

    Optional<R> find(RowKey wanted) {
        return Optional.ofNullable(rows.get(wanted));
    }

    /** Returns the rows that match, as they are now, in the order of their keys. */
    Stream<R> where(Predicate<R> condition) {
        return new ArrayList<>(rows.values()).stream().filter(condition);
    }

    /** Returns the first rows of a page after a key. */
    List<R> page(RowKey after, int limit, Predicate<R> condition) {
        return new ArrayList<>(rows.tailMap(after, false).values())
                .stream().filter(condition).limit(limit).toList();
    }

    /** Inserts a row, or replaces the one with its key. */
    void put(R row) {
        RowKey written = key.apply(row);
        R before = rows.put(written, row);
        undo.accept(() -> restore(written, before));
    }

    int delete(Predicate<R> condition) {
        List<R> deleted = where(condition).toList();
        for (R row : deleted) {
            RowKey removed = key.apply(row);
            rows.remove(removed);
            undo.accept(() -> restore(removed, row));
        }
        return deleted.size();
    }

    private void restore(RowKey written, @Nullable R before) {
        if (before == null) {
            rows.remove(written);
        } else {
            rows.put(written, before);
        }
    }
}

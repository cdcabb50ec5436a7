package io.github.holdfast.repository.memory;

import java.util.Comparator;

/**
 * The key of a row: its texts and numbers in the order of the primary key, with 0 and the empty string in place of what it lacks.
 */
record RowKey(String name, long number, String id) implements Comparable<RowKey> {

    private static final Comparator<RowKey> ORDER =
            Comparator.comparing(RowKey::name).thenComparing(RowKey::number).thenComparing(RowKey::id);

    static RowKey of(String name) {
        return new RowKey(name, 0, "");
    }

    static RowKey of(String name, long number) {
        return new RowKey(name, number, "");
    }

    @Override
    public int compareTo(RowKey other) {
        return ORDER.compare(this, other);
    }
}

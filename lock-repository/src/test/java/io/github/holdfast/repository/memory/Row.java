package io.github.holdfast.repository.memory;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.jspecify.annotations.Nullable;

/**
 * Makes a row as a persistence provider does, by the fields of its entity.
 *
 * @param <R> the entity
 */
public final class Row<R> {

    private final R row;

    private Row(R row) {
        this.row = row;
    }

    /** Begins a new row. */
    static <R> Row<R> of(Class<R> type) {
        try {
            Constructor<R> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return new Row<>(constructor.newInstance());
        } catch (ReflectiveOperationException missing) {
            throw new LinkageError(missing.getMessage(), missing);
        }
    }

    /** Begins with a copy of a row, because rows are values. */
    @SuppressWarnings("unchecked")
    public static <R> Row<R> like(R origin) {
        Row<R> copy = of((Class<R>) origin.getClass());
        for (Field field : origin.getClass().getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
                copy.with(field.getName(), get(origin, field.getName()));
            }
        }
        return copy;
    }

    /** Sets a field. */
    public Row<R> with(String name, @Nullable Object value) {
        try {
            field(row, name).set(row, value);
            return this;
        } catch (IllegalAccessException closed) {
            throw new AssertionError(closed);
        }
    }

    public R made() {
        return row;
    }

    public static @Nullable Object get(Object row, String name) {
        try {
            return field(row, name).get(row);
        } catch (IllegalAccessException closed) {
            throw new AssertionError(closed);
        }
    }

    private static Field field(Object row, String name) {
        try {
            Field field = row.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException unknown) {
            throw new AssertionError(unknown);
        }
    }
}

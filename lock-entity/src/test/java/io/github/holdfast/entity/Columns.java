package io.github.holdfast.entity;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads and writes the fields of an entity, as the persistence provider does. */
final class Columns {

    private Columns() {}

    /** Every mapped field, also one that is added later. */
    static List<Field> fieldsOf(Class<?> entity) {
        return Arrays.stream(entity.getDeclaredFields())
                .filter(field -> !Modifier.isStatic(field.getModifiers()) && !field.isSynthetic())
                .toList();
    }

    /** The row: what is in every column. */
    static Map<String, @Nullable Object> of(Object entity) {
        Map<String, @Nullable Object> row = new TreeMap<>();
        for (Field field : fieldsOf(entity.getClass())) {
            try {
                field.setAccessible(true);
                row.put(field.getName(), field.get(entity));
            } catch (IllegalAccessException e) {
                throw new LinkageError(e.getMessage(), e);
            }
        }
        return row;
    }

    /** Puts the value into the column, as if it had been loaded. */
    static void load(Object entity, String fieldName, @Nullable Object value) {
        try {
            Field field = entity.getClass().getDeclaredField(fieldName);
            field.setAccessible(true);
            field.set(entity, value);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }
}

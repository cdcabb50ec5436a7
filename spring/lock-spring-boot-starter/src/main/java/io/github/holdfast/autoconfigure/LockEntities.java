package io.github.holdfast.autoconfigure;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Table;
import jakarta.persistence.metamodel.Type;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.orm.jpa.persistenceunit.MutablePersistenceUnitInfo;

/** The entities that a persistence unit needs for the locks. */
final class LockEntities {

    /** The same entities as in {@code META-INF/holdfast-orm.xml}. */
    static final List<Class<?>> ALL = LockEntity.ENTITIES;

    private LockEntities() {}

    static void addTo(MutablePersistenceUnitInfo unit) {
        ALL.forEach(entity -> unit.addManagedClassName(entity.getName()));
    }

    static boolean areManagedBy(EntityManagerFactory unit) {
        return unit.getMetamodel().getEntities().stream()
                .map(Type::getJavaType)
                .collect(Collectors.toSet())
                .containsAll(ALL);
    }

    /** Returns the names of their tables, before any naming strategy of the application. */
    static Stream<String> tables() {
        return ALL.stream()
                .map(entity -> AnnotationUtils.getAnnotation(entity, Table.class))
                .map(table -> Objects.requireNonNull(table).name());
    }
}

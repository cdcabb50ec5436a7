package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.StoreFunctions;
import java.lang.reflect.Constructor;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.metamodel.mapping.AttributeMapping;
import org.hibernate.metamodel.mapping.EntityIdentifierMapping;
import org.hibernate.metamodel.mapping.EntityMappingType;
import org.hibernate.metamodel.mapping.JdbcMapping;
import org.hibernate.metamodel.mapping.PropertyBasedMapping;
import org.hibernate.type.descriptor.WrapperOptions;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;

/**
 * The columns of {@link LockRepository#read}. They are read by the types of Hibernate's mapping, but without a session.
 * Thread-safe.
 */
final class SnapshotColumns {

    private final WrapperOptions options;
    private final EntityColumns<LockEntity> lock;
    private final EntityColumns<LockNode> node;
    private final JdbcMapping clock;

    SnapshotColumns(SessionFactoryImplementor factory) {
        options = factory.getWrapperOptions();
        lock = new EntityColumns<>(factory, LockEntity.class);
        node = new EntityColumns<>(factory, LockNode.class);
        clock = StoreFunctions.instant(factory.getTypeConfiguration());
    }

    /** Returns the query in HQL. */
    String hql() {
        List<String> selection = new ArrayList<>(lock.paths("l"));
        selection.addAll(node.paths("n"));
        selection.add("db_clock()");
        return "select " + String.join(", ", selection) + ' ' + LockRepository.FROM_LOCK_AND_NODE;
    }

    /** Reads the current row of a result. */
    LockSnapshot read(ResultSet result) throws SQLException {
        int first = 1;
        LockEntity row = Objects.requireNonNull(lock.read(result, first, options), "a row of a lock has a name");
        first += lock.count();
        LockNode rowOfNode = node.read(result, first, options);
        first += node.count();
        return new LockSnapshot(row, rowOfNode, (Instant) Objects.requireNonNull(value(clock, result, first, options)));
    }

    private static @Nullable Object value(JdbcMapping type, ResultSet result, int column, WrapperOptions options)
            throws SQLException {
        return type.convertToDomainValue(type.getJdbcValueExtractor().extract(result, column, options));
    }

    /**
     * The columns of an entity, its id first. All attributes are basic.
     *
     * @param <T> the entity
     */
    private static final class EntityColumns<T> {

        private final Constructor<T> constructor;
        private final EntityIdentifierMapping id;
        private final List<AttributeMapping> attributes = new ArrayList<>();

        EntityColumns(SessionFactoryImplementor factory, Class<T> type) {
            constructor = constructor(type);
            EntityMappingType mapping = factory.getMappingMetamodel().getEntityDescriptor(type);
            id = mapping.getIdentifierMapping();
            mapping.forEachAttributeMapping(attribute -> attributes.add(attribute));
        }

        private static <T> Constructor<T> constructor(Class<T> type) {
            try {
                return type.getDeclaredConstructor();
            } catch (NoSuchMethodException missing) {
                throw new IllegalStateException(type + " has no constructor for JPA", missing);
            }
        }

        int count() {
            return 1 + attributes.size();
        }

        List<String> paths(String alias) {
            List<String> paths = new ArrayList<>();
            paths.add(alias + '.' + id.getAttributeName());
            for (AttributeMapping attribute : attributes) {
                paths.add(alias + '.' + attribute.getAttributeName());
            }
            return paths;
        }

        /** Reads the entity from adjacent columns; null if the row has none. */
        @Nullable
        T read(ResultSet result, int first, WrapperOptions options) throws SQLException {
            Object key = value(id.getSingleJdbcMapping(), result, first, options);
            if (key == null) {
                return null;
            }
            T entity = BeanUtils.instantiateClass(constructor);
            ((PropertyBasedMapping) id).getPropertyAccess().getSetter().set(entity, key);
            int column = first;
            for (AttributeMapping attribute : attributes) {
                attribute.setValue(entity, value(attribute.getSingleJdbcMapping(), result, ++column, options));
            }
            return entity;
        }
    }
}

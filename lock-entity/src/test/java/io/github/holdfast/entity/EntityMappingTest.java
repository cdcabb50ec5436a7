package io.github.holdfast.entity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.ExcludeDefaultListeners;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How the entities are hardened against whatever the application configures. */
class EntityMappingTest {

    private static Column column(Class<?> entity, String field) {
        try {
            return entity.getDeclaredField(field).getAnnotation(Column.class);
        } catch (NoSuchFieldException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void entitiesHaveNamesOfTheirOwn() {
        assertThat(LockEntity.class.getAnnotation(Entity.class).name()).isEqualTo("HoldfastLock");
        assertThat(LockEntity.class.getAnnotation(Table.class).name()).isEqualTo("distributed_lock");
        assertThat(LockNode.class.getAnnotation(Entity.class).name()).isEqualTo("HoldfastNode");
        assertThat(LockNode.class.getAnnotation(Table.class).name()).isEqualTo("lock_node");
    }

    @ParameterizedTest
    @ValueSource(classes = {LockEntity.class, LockNode.class})
    void neitherSecondLevelCacheNorListenersOfTheApplicationTouchThem(Class<?> entity) {
        assertThat(entity.getAnnotation(Cacheable.class).value()).isFalse();
        assertThat(entity).hasAnnotation(ExcludeDefaultListeners.class);
        assertThat(entity.getAnnotation(Access.class).value()).isEqualTo(AccessType.FIELD);
    }

    @ParameterizedTest
    @ValueSource(classes = {LockEntity.class, LockNode.class})
    void versionIsTheProvidersVersion(Class<?> entity) throws NoSuchFieldException {
        Field version = entity.getDeclaredField("version");

        assertThat(version.isAnnotationPresent(Version.class)).isTrue();
        assertThat(version.getType()).isEqualTo(long.class);
        assertThat(Columns.fieldsOf(entity))
                .filteredOn(field -> field.isAnnotationPresent(Version.class))
                .hasSize(1);
        assertThat(Columns.fieldsOf(entity))
                .filteredOn(field -> field.isAnnotationPresent(Id.class))
                .hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(classes = {LockEntity.class, LockNode.class})
    void everyColumnIsNamedAndEveryInstantIsPinnedToUtc(Class<?> entity) {
        assertThat(Columns.fieldsOf(entity))
                .allSatisfy(field -> assertThat(field.getAnnotation(Column.class))
                        .isNotNull()
                        .extracting(Column::name)
                        .isEqualTo(snakeCase(field.getName())));
        assertThat(Columns.fieldsOf(entity))
                .filteredOn(field -> field.getType() == Instant.class)
                .isNotEmpty()
                .allSatisfy(field -> assertThat(field.getAnnotation(JdbcTypeCode.class))
                        .isNotNull()
                        .extracting(JdbcTypeCode::value)
                        .isEqualTo(SqlTypes.TIMESTAMP_UTC));
    }

    private static String snakeCase(String name) {
        return name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    @Test
    void widthsAreThoseOfTheChangelog() {
        assertThat(column(LockEntity.class, "name").length()).isEqualTo(255);
        assertThat(column(LockEntity.class, "owner").length()).isEqualTo(128);
        assertThat(column(LockEntity.class, "nodeId").length()).isEqualTo(64);
        assertThat(column(LockEntity.class, "holder").length()).isEqualTo(255);
        assertThat(column(LockNode.class, "id").length()).isEqualTo(64);
        assertThat(column(LockNode.class, "description").length()).isEqualTo(255);
    }

    @Test
    void whatCanBeNullIsNullableInTheTable() {
        assertThat(Columns.fieldsOf(LockEntity.class))
                .filteredOn(field -> column(LockEntity.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactlyInAnyOrder("owner", "nodeId", "acquiredAt", "expiresAt", "availableAt", "holder");
        assertThat(Columns.fieldsOf(LockNode.class))
                .filteredOn(field -> column(LockNode.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactly("description");
    }

    @ParameterizedTest
    @ValueSource(classes = {LockEntity.class, LockNode.class})
    void nobodyCanChangeAnInstance(Class<?> entity) {
        assertThat(Columns.fieldsOf(entity)).allMatch(field -> Modifier.isPrivate(field.getModifiers()));
        assertThat(Arrays.stream(entity.getDeclaredMethods())
                        .filter(method -> !Modifier.isPrivate(method.getModifiers())))
                .noneMatch(method -> method.getReturnType() == void.class)
                .extracting(Method::getName)
                .noneMatch(name -> name.startsWith("set"));
    }

    /** What JPA demands of an entity, and an architecture test would otherwise object to. */
    @ParameterizedTest
    @ValueSource(classes = {LockEntity.class, LockNode.class})
    void providerCanMakeAndProxyThem(Class<?> entity) throws NoSuchMethodException {
        Constructor<?> empty = entity.getDeclaredConstructor();

        assertThat(Modifier.isProtected(empty.getModifiers())).isTrue();
        assertThat(Modifier.isFinal(entity.getModifiers())).isFalse();
        assertThat(Columns.fieldsOf(entity)).noneMatch(field -> Modifier.isFinal(field.getModifiers()));
    }

    @Test
    void moduleWorksWithoutSpring() {
        for (String type : List.of(
                "org.springframework.core.SpringVersion",
                "org.springframework.data.repository.Repository",
                "org.springframework.transaction.PlatformTransactionManager")) {
            assertThatExceptionOfType(ClassNotFoundException.class)
                    .as(type)
                    .isThrownBy(() -> Class.forName(type, false, LockEntity.class.getClassLoader()));
        }
    }
}

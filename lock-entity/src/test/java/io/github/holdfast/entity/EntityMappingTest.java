package io.github.holdfast.entity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
import jakarta.persistence.Convert;
import jakarta.persistence.Entity;
import jakarta.persistence.ExcludeDefaultListeners;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import java.io.Serializable;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the entities are hardened against whatever the application configures. */
class EntityMappingTest {

    private static final String ENTITIES = "io.github.holdfast.entity.LockEntity#ENTITIES";

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
        assertThat(LockAudit.class.getAnnotation(Entity.class).name()).isEqualTo("HoldfastAudit");
        assertThat(LockAudit.class.getAnnotation(Table.class).name()).isEqualTo("lock_audit");
        assertThat(LockRun.class.getAnnotation(Entity.class).name()).isEqualTo("HoldfastRun");
        assertThat(LockRun.class.getAnnotation(Table.class).name()).isEqualTo("lock_run");
        assertThat(LockHolder.class.getAnnotation(Entity.class).name()).isEqualTo("HoldfastHolder");
        assertThat(LockHolder.class.getAnnotation(Table.class).name()).isEqualTo("lock_holder");
        assertThat(LockWaiter.class.getAnnotation(Entity.class).name()).isEqualTo("HoldfastWaiter");
        assertThat(LockWaiter.class.getAnnotation(Table.class).name()).isEqualTo("lock_waiter");
    }

    @ParameterizedTest
    @FieldSource(ENTITIES)
    void neitherSecondLevelCacheNorListenersOfTheApplicationTouchThem(Class<?> entity) {
        assertThat(entity.getAnnotation(Cacheable.class).value()).isFalse();
        assertThat(entity).hasAnnotation(ExcludeDefaultListeners.class);
        assertThat(entity.getAnnotation(Access.class).value()).isEqualTo(AccessType.FIELD);
    }

    @ParameterizedTest
    @FieldSource(ENTITIES)
    void noConverterOfTheApplicationTouchesAColumn(Class<?> entity) {
        assertThat(Columns.fieldsOf(entity))
                .allSatisfy(field -> assertThat(field.getAnnotation(Convert.class))
                        .isNotNull()
                        .matches(Convert::disableConversion));
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
    }

    @ParameterizedTest
    @ValueSource(classes = {LockAudit.class, LockRun.class, LockHolder.class, LockWaiter.class})
    void thereIsNoVersionWhereNobodyUpdatesTwice(Class<?> entity) {
        assertThat(Columns.fieldsOf(entity)).noneMatch(field -> field.isAnnotationPresent(Version.class));
    }

    @ParameterizedTest
    @ValueSource(classes = {LockEntity.class, LockNode.class, LockAudit.class})
    void oneColumnIsTheKey(Class<?> entity) {
        assertThat(Columns.fieldsOf(entity))
                .filteredOn(field -> field.isAnnotationPresent(Id.class))
                .hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(classes = {LockRun.class, LockHolder.class})
    void aRunAndAHolderAreKnownByTheirGrant(Class<?> entity) {
        assertThat(keyOf(entity)).containsExactly("name", "fencingToken");
    }

    @Test
    void aWaiterIsKnownByItsPlaceInTheQueue() {
        assertThat(keyOf(LockWaiter.class)).containsExactly("name", "since", "id");
    }

    @ParameterizedTest
    @ValueSource(classes = {LockRun.class, LockHolder.class, LockWaiter.class})
    void aKeyOfSeveralColumnsIsAValue(Class<?> entity) {
        Class<?> key = entity.getAnnotation(IdClass.class).value();

        assertThat(Arrays.stream(key.getRecordComponents()).map(RecordComponent::getName))
                .containsExactlyElementsOf(keyOf(entity));
        assertThat(key).isAssignableTo(Serializable.class);
    }

    private static List<String> keyOf(Class<?> entity) {
        return Columns.fieldsOf(entity).stream()
                .filter(field -> field.isAnnotationPresent(Id.class))
                .map(Field::getName)
                .toList();
    }

    @ParameterizedTest
    @FieldSource(ENTITIES)
    void everyColumnIsNamedAndEveryInstantIsPinnedToUtc(Class<?> entity) {
        assertThat(Columns.fieldsOf(entity))
                .allSatisfy(field -> assertThat(field.getAnnotation(Column.class))
                        .isNotNull()
                        .extracting(Column::name)
                        .isEqualTo(snakeCase(field.getName())));
        assertThat(Columns.fieldsOf(entity))
                .filteredOn(field -> field.getType() == Instant.class)
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
        assertThat(column(LockAudit.class, "id").length()).isEqualTo(64);
        assertThat(column(LockAudit.class, "action").length()).isEqualTo(32);
        assertThat(column(LockAudit.class, "lockName").length()).isEqualTo(255);
        assertThat(column(LockAudit.class, "owner").length()).isEqualTo(128);
        assertThat(column(LockAudit.class, "nodeId").length()).isEqualTo(64);
        assertThat(column(LockAudit.class, "holder").length()).isEqualTo(255);
        assertThat(column(LockAudit.class, "doneBy").length()).isEqualTo(255);
        assertThat(column(LockAudit.class, "reason").length()).isEqualTo(1000);
        assertThat(column(LockRun.class, "name").length()).isEqualTo(255);
        assertThat(column(LockRun.class, "nodeId").length()).isEqualTo(64);
        assertThat(column(LockRun.class, "holder").length()).isEqualTo(255);
        assertThat(column(LockRun.class, "error").length()).isEqualTo(1000);
        assertThat(column(LockHolder.class, "name").length()).isEqualTo(255);
        assertThat(column(LockHolder.class, "owner").length()).isEqualTo(128);
        assertThat(column(LockHolder.class, "nodeId").length()).isEqualTo(64);
        assertThat(column(LockHolder.class, "holder").length()).isEqualTo(255);
        assertThat(column(LockWaiter.class, "name").length()).isEqualTo(255);
        assertThat(column(LockWaiter.class, "id").length()).isEqualTo(64);
        assertThat(column(LockWaiter.class, "nodeId").length()).isEqualTo(64);
        assertThat(column(LockWaiter.class, "mode").length()).isEqualTo(1);
        assertThat(column(LockWaiter.class, "holder").length()).isEqualTo(255);
        assertThat(LockRun.Status.values())
                .allMatch(status -> status.name().length()
                        <= column(LockRun.class, "status").length());
        assertThat(LockAudit.FORCED_RELEASE)
                .hasSizeLessThanOrEqualTo(column(LockAudit.class, "action").length());
    }

    @Test
    void whatCanBeNullIsNullableInTheTable() {
        assertThat(Columns.fieldsOf(LockEntity.class))
                .filteredOn(field -> column(LockEntity.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactlyInAnyOrder(
                        "owner",
                        "nodeId",
                        "acquiredAt",
                        "expiresAt",
                        "availableAt",
                        "holder",
                        "permits",
                        "wantedUntil");
        assertThat(Columns.fieldsOf(LockNode.class))
                .filteredOn(field -> column(LockNode.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactlyInAnyOrder("description", "bell", "waitsUntil");
        assertThat(Columns.fieldsOf(LockAudit.class))
                .filteredOn(field -> column(LockAudit.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactlyInAnyOrder("owner", "nodeId", "holder", "permits");
        assertThat(Columns.fieldsOf(LockRun.class))
                .filteredOn(field -> column(LockRun.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactlyInAnyOrder("period", "nodeId", "holder", "endedAt", "error");
        assertThat(Columns.fieldsOf(LockHolder.class))
                .filteredOn(field -> column(LockHolder.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactlyInAnyOrder("nodeId", "expiresAt", "holder");
        assertThat(Columns.fieldsOf(LockWaiter.class))
                .filteredOn(field -> column(LockWaiter.class, field.getName()).nullable())
                .extracting(Field::getName)
                .containsExactly("holder");
    }

    @Test
    void auditTellsItsColumns() {
        Instant doneAt = Instant.parse("2026-03-29T00:59:59.999999Z");
        LockAudit audit = new LockAudit();
        Columns.load(audit, "id", "audit-1");
        Columns.load(audit, "action", LockAudit.FORCED_RELEASE);
        Columns.load(audit, "lockName", "job");
        Columns.load(audit, "owner", "me");
        Columns.load(audit, "nodeId", "node-1");
        Columns.load(audit, "holder", "4711@host-1/main");
        Columns.load(audit, "fencingToken", 12L);
        Columns.load(audit, "permits", 3);
        Columns.load(audit, "doneAt", doneAt);
        Columns.load(audit, "doneBy", "42@host-2/main");
        Columns.load(audit, "reason", "host-1 hangs");

        assertThat(audit.id()).isEqualTo("audit-1");
        assertThat(audit.action()).isEqualTo("FORCED_RELEASE");
        assertThat(audit.lockName()).isEqualTo("job");
        assertThat(audit.owner()).isEqualTo("me");
        assertThat(audit.nodeId()).isEqualTo("node-1");
        assertThat(audit.holder()).isEqualTo("4711@host-1/main");
        assertThat(audit.fencingToken()).isEqualTo(12);
        assertThat(audit.permits()).isEqualTo(3);
        assertThat(audit.doneAt()).isEqualTo(doneAt);
        assertThat(audit.doneBy()).isEqualTo("42@host-2/main");
        assertThat(audit.reason()).isEqualTo("host-1 hangs");
        assertThat(Columns.of(audit)).hasSize(11);
    }

    @ParameterizedTest
    @FieldSource(ENTITIES)
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
    @FieldSource(ENTITIES)
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

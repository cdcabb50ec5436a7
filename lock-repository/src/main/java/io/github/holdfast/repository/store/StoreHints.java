package io.github.holdfast.repository.store;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Changelog;
import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockTablesIntegrator;
import io.github.holdfast.repository.StoreFunctions;
import io.github.holdfast.repository.jdbc.MetamodelCache;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.LockAuditRepository;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.rows.LockRepository;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.LockWaiterRepository;
import io.github.holdfast.repository.rows.PermitRepository;
import io.github.holdfast.repository.wakeup.MysqlWakeUpRepository;
import io.github.holdfast.repository.wakeup.PostgresWakeUpRepository;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.IdClass;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.core.DecoratingProxy;
import org.springframework.data.repository.Repository;
import org.springframework.transaction.interceptor.TransactionalProxy;

/**
 * What the store reaches by reflection, for native images. Spring's AOT processing sees neither repositories that are not beans, nor
 * entities that no scan has found.
 */
final class StoreHints implements RuntimeHintsRegistrar {

    private static final List<Class<?>> REPOSITORIES = List.of(
            LockRepository.class,
            LockNodeRepository.class,
            LockWaiterRepository.class,
            LockRunRepository.class,
            LockAuditRepository.class,
            LockPageRepository.class,
            LockSearchRepository.class,
            PostgresWakeUpRepository.class,
            MysqlWakeUpRepository.class,
            PermitRepository.class);

    /** Those that queries create. */
    private static final List<Class<?>> RESULTS = List.of(
            LockSnapshot.class,
            LockNodeRepository.Snapshot.class,
            LockNodeRepository.Pulse.class,
            LockNodeRepository.Waiting.class,
            LockNodeRepository.Queued.class,
            HolderRows.HolderSnapshot.class,
            HolderRows.Usage.class,
            HolderRows.Semaphore.class);

    /** Those that are looked for by name, because not every application has them. */
    private static final List<String> OPTIONAL = List.of(
            "com.zaxxer.hikari.HikariDataSource",
            "org.hibernate.SharedStatelessSessionBuilder",
            "org.postgresql.PGConnection",
            "org.springframework.data.jpa.repository.query.QueryEnhancerSelector");

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        REPOSITORIES.forEach(repository -> register(repository, hints));
        hints.reflection().registerType(EntityManagerFactory.class, MemberCategory.INVOKE_PUBLIC_METHODS);
        Stream.of(EntityManagerFactory.class, Connection.class, PreparedStatement.class, ResultSet.class)
                .forEach(hints.proxies()::registerJdkProxy);
        registerEntities(hints.reflection());
        RESULTS.forEach(type -> hints.reflection().registerType(type, MemberCategory.INVOKE_DECLARED_CONSTRUCTORS));
        Stream.of(StoreFunctions.class, LockTablesIntegrator.class)
                .forEach(type -> hints.reflection().registerType(type, MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
        OPTIONAL.forEach(type -> hints.reflection().registerTypeIfPresent(loader, type));
        hints.reflection()
                .registerTypeIfPresent(loader, MetamodelCache.CLEANUP, MemberCategory.INVOKE_DECLARED_CONSTRUCTORS);
        Stream.concat(KnownDialects.schemaScripts(), Stream.of(Changelog.PATH, "META-INF/holdfast-orm.xml"))
                .forEach(hints.resources()::registerPattern);
    }

    private static void register(Class<?> repository, RuntimeHints hints) {
        Stream.concat(Stream.of(repository), Stream.of(repository.getInterfaces()))
                .forEach(type -> hints.reflection().registerType(type, MemberCategory.INVOKE_PUBLIC_METHODS));
        // A TransactionalProxy is a SpringProxy, which Spring therefore does not add.
        hints.proxies()
                .registerJdkProxy(
                        repository, Repository.class, TransactionalProxy.class, Advised.class, DecoratingProxy.class);
    }

    private static void registerEntities(ReflectionHints hints) {
        BindingReflectionHintsRegistrar members = new BindingReflectionHintsRegistrar();
        for (Class<?> entity : LockEntity.ENTITIES) {
            members.registerReflectionHints(hints, entity);
            // Hibernate resolves the types of its methods, too.
            Stream.of(entity.getDeclaredMethods())
                    .map(Method::getReturnType)
                    .filter(type -> type.getPackage() == entity.getPackage())
                    .forEach(hints::registerType);
            IdClass key = entity.getAnnotation(IdClass.class);
            if (key != null) {
                members.registerReflectionHints(hints, key.value());
            }
        }
    }
}

package io.github.holdfast.autoconfigure;

import com.zaxxer.hikari.HikariConfig;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.boot.context.properties.bind.BindableRuntimeHintsRegistrar;
import org.springframework.util.ClassUtils;

/** What the creation of the tables and of the locks' own pool reaches by reflection, for native images. */
final class SchemaHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.reflection().registerType(LockDataSource.class, MemberCategory.INVOKE_DECLARED_METHODS);
        BindableRuntimeHintsRegistrar.forTypes(LockChangelog.Settings.class).registerHints(hints, loader);
        Stream.of(TablePlan.FLYWAY, LockChangelog.MARK)
                .forEach(type -> hints.reflection().registerTypeIfPresent(loader, type));
        hints.reflection()
                .registerTypeIfPresent(loader, TablePlan.LIQUIBASE, liquibase -> liquibase.withField("shouldRun"));
        if (ClassUtils.isPresent("com.zaxxer.hikari.HikariConfig", loader)) {
            HikariPool.register(hints);
        }
    }

    /** Apart, because an application may have another pool. */
    private static final class HikariPool {

        /** The locks' own pool is a copy of the application's, which Hikari makes field by field. */
        static void register(RuntimeHints hints) {
            Stream.of(HikariConfig.class.getDeclaredFields()).forEach(hints.reflection()::registerField);
        }
    }
}

package io.github.holdfast.repository;

import java.io.File;
import java.io.StringWriter;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.DatabaseConnection;
import liquibase.database.OfflineConnection;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.resource.ClassLoaderResourceAccessor;

/** Runs the changelog, with the Liquibase of the class loader that loaded this class. */
public final class SchemaTestLiquibase implements Consumer<Connection> {

    /** Copied there by the build. */
    private static final Path LIQUIBASE_4 = Path.of("target", "liquibase-4", "liquibase-core.jar");

    /** What Liquibase does with a changelog. */
    private interface Work {
        void with(Liquibase liquibase) throws LiquibaseException;
    }

    @Override
    public void accept(Connection connection) {
        run(() -> new JdbcConnection(connection), liquibase -> liquibase.update(new Contexts()));
    }

    /** Returns the script that Liquibase would run. */
    static String dryRun(Connection connection) {
        return dryRun(() -> new JdbcConnection(connection));
    }

    /** Returns the script for the product that a URL like {@code offline:h2} names. */
    static String dryRun(String offline) {
        return dryRun(() -> new OfflineConnection(offline, new ClassLoaderResourceAccessor()));
    }

    @SuppressWarnings("deprecation")
    private static String dryRun(Supplier<DatabaseConnection> connection) {
        StringWriter script = new StringWriter();
        run(connection, liquibase -> liquibase.update(new Contexts(), script));
        return script.toString();
    }

    private static void run(Supplier<DatabaseConnection> connection, Work work) {
        ClassLoader ours = SchemaTestLiquibase.class.getClassLoader();
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(ours);
        try (Liquibase liquibase =
                new Liquibase(LockSchema.CHANGELOG, new ClassLoaderResourceAccessor(ours), connection.get())) {
            work.with(liquibase);
        } catch (LiquibaseException failure) {
            throw new IllegalStateException(failure);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    /** The same class once more, with the other Liquibase and nothing else changed. */
    @SuppressWarnings("unchecked")
    static Consumer<Connection> ofVersion4() throws ReflectiveOperationException, MalformedURLException {
        if (!Files.exists(LIQUIBASE_4)) {
            throw new IllegalStateException(LIQUIBASE_4 + " is missing: run the build with Maven, which copies it");
        }
        List<URL> classPath = new ArrayList<>();
        classPath.add(LIQUIBASE_4.toUri().toURL());
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!entry.contains("liquibase-core")) {
                classPath.add(Path.of(entry).toUri().toURL());
            }
        }
        ClassLoader isolated = new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
        return (Consumer<Connection>) isolated.loadClass(SchemaTestLiquibase.class.getName())
                .getConstructor()
                .newInstance();
    }
}

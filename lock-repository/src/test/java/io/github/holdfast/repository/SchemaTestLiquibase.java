package io.github.holdfast.repository;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.resource.ClassLoaderResourceAccessor;

/** Runs the changelog, with the Liquibase of the class loader that loaded this class. */
public final class SchemaTestLiquibase implements Consumer<Connection> {

    /** Copied there by the build. */
    private static final Path LIQUIBASE_4 = Path.of("target", "liquibase-4", "liquibase-core.jar");

    @Override
    public void accept(Connection connection) {
        ClassLoader ours = SchemaTestLiquibase.class.getClassLoader();
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(ours);
        try (Liquibase liquibase = new Liquibase(
                LockSchema.CHANGELOG, new ClassLoaderResourceAccessor(ours), new JdbcConnection(connection))) {
            liquibase.update(new Contexts());
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

package io.github.holdfast.repository;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Connections to a real server, whose driver reports the version of another one that speaks the same protocol. */
public final class ReportedVersion {

    private final String version;

    private ReportedVersion(String version) {
        this.version = version;
    }

    public static DataSource of(DataSource real, String version) {
        return new ReportedVersion(version).reporting(DataSource.class, real);
    }

    private <T> T reporting(Class<T> type, T real) {
        return type.cast(Proxy.newProxyInstance(
                ReportedVersion.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    try {
                        return switch (method.getName()) {
                            case "getDatabaseProductVersion" -> version;
                            case "unwrap" -> method.invoke(real, arguments);
                            default -> reportingToo(method.invoke(real, arguments));
                        };
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                }));
    }

    private @Nullable Object reportingToo(@Nullable Object result) {
        if (result instanceof Connection connection) {
            return reporting(Connection.class, connection);
        }
        return result instanceof DatabaseMetaData metaData ? reporting(DatabaseMetaData.class, metaData) : result;
    }
}

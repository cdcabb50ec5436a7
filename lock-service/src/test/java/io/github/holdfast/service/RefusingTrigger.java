package io.github.holdfast.service;

import java.sql.Connection;
import java.sql.SQLException;
import org.h2.api.Trigger;
import org.jspecify.annotations.Nullable;

/** Refuses every write, on H2, which makes an instance by itself. */
public final class RefusingTrigger implements Trigger {

    @Override
    public void fire(Connection connection, Object @Nullable [] before, Object @Nullable [] after) throws SQLException {
        throw new SQLException("The table is read-only", "90097", 90097);
    }
}

package io.github.holdfast.repository.store;

import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.SqlClock;
import io.github.holdfast.repository.StoreException.Failure;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Optional;
import org.hibernate.dialect.Dialect;

/** A dialect whose author has not thought of errors without a SQLState, nor of anything else. */
public final class FaultyDialect extends LockDialect {

    @Override
    public String label() {
        return "a database of somebody else";
    }

    @Override
    public boolean isOf(Dialect dialect) {
        return false;
    }

    @Override
    public boolean isOf(DatabaseMetaData metaData) {
        return false;
    }

    @Override
    public SqlClock clock() {
        throw new UnsupportedOperationException();
    }

    @Override
    public String schemaScript() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Snapshots snapshots() {
        return Snapshots.UNPREDICTABLE;
    }

    @Override
    public Optional<Failure> failureOf(SQLException error) {
        return error.getSQLState().equals("40001") ? Optional.of(Failure.UNKNOWN) : Optional.empty();
    }

    @Override
    public boolean isCommitOpen(SQLException error) {
        throw new UnsupportedOperationException();
    }
}

package example.derby;

import jakarta.persistence.Timeout;
import org.hibernate.community.dialect.DerbyDialect;

/**
 * Hibernate's dialect for Derby, with row locks that Derby can parse: in 7.4.5, the one in {@code hibernate-community-dialects} appends
 * {@code with rs} twice. Set {@code hibernate.dialect} to this class.
 */
public final class RowLockingDerbyDialect extends DerbyDialect {

    /** Called by Hibernate. */
    public RowLockingDerbyDialect() {}

    @Override
    public String getForUpdateString() {
        return " for update";
    }

    @Override
    public String getWriteLockString(Timeout timeout) {
        return " for update";
    }

    @Override
    public String getReadLockString(Timeout timeout) {
        return " for read only";
    }
}

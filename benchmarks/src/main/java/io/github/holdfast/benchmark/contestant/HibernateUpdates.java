package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManagerFactory;
import org.hibernate.SessionFactory;
import org.hibernate.StatelessSession;

/** Not a lock, but two updates of a row through Hibernate, each in a transaction. They show the cost of Hibernate itself. */
public final class HibernateUpdates implements Contestant {

    private static final String UPDATE = "update HoldfastLock l set l.holder = :holder where l.name = :name";

    private final EntityManagerFactory unit;

    public HibernateUpdates(HikariDataSource pool) {
        unit = HoldfastLocks.unit(pool);
    }

    @Override
    public Held acquire(String name) {
        update(name, "somebody");
        return () -> update(name, "nobody");
    }

    private void update(String name, String holder) {
        try (StatelessSession session = unit.unwrap(SessionFactory.class).openStatelessSession()) {
            session.beginTransaction();
            int updated = session.createMutationQuery(UPDATE)
                    .setParameter("holder", holder)
                    .setParameter("name", name)
                    .executeUpdate();
            if (updated != 1) {
                throw new IllegalStateException("There is no " + name);
            }
            session.getTransaction().commit();
        }
    }

    @Override
    public void close() {
        unit.close();
    }
}

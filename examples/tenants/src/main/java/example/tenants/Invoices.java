package example.tenants;

import io.github.holdfast.annotation.Locked;
import jakarta.persistence.EntityManager;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Writes invoices. */
@Service
class Invoices {

    private final EntityManager entityManager;

    Invoices(EntityManager entityManager) {
        this.entityManager = entityManager;
    }

    /** Writes the next invoice of the current tenant. The name of the lock begins with the tenant, so tenants do not wait for each other. */
    @Locked(name = "{@currentTenant.name()}:invoices", waitAtMost = "0s")
    @Transactional
    public long write(Runnable beforeTheCommit) {
        long next = entityManager
                        .createQuery("select coalesce(max(i.number), 0) from Invoice i", Long.class)
                        .getSingleResult()
                + 1;
        entityManager.persist(new Invoice(next));
        beforeTheCommit.run();
        return next;
    }

    /** Returns how many invoices the current tenant has. */
    @Transactional(readOnly = true)
    public long count() {
        return entityManager
                .createQuery("select count(i) from Invoice i", Long.class)
                .getSingleResult();
    }
}

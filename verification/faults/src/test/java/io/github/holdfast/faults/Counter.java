package io.github.holdfast.faults;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.Objects;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;

/** What the transactions of a lock's holders count, for each name. For the calling thread's transaction. */
record Counter(EntityManagerFactory unit) {

    private EntityManager em() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    long read(String name) {
        Number counted = (Number) em().createNativeQuery("select n from fault_counter where name = :name")
                .setParameter("name", name)
                .getSingleResult();
        return counted.longValue();
    }

    void write(String name, long counted) {
        int unused = em().createNativeQuery("update fault_counter set n = :n where name = :name")
                .setParameter("n", counted)
                .setParameter("name", name)
                .executeUpdate();
    }
}

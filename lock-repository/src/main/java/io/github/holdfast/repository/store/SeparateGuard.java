package io.github.holdfast.repository.store;

import io.github.holdfast.repository.Grant;
import java.util.List;
import org.hibernate.Session;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A transaction of its own that keeps the rows of grants locked, while a transaction on another connection commits. Not thread-safe. */
public final class SeparateGuard {

    private static final Logger LOG = LoggerFactory.getLogger(SeparateGuard.class);

    private final Session session;
    private final List<Grant> gone;

    SeparateGuard(Session session, List<Grant> gone) {
        this.session = session;
        this.gone = gone;
    }

    /** Returns the grants that did not stand any more. */
    public List<Grant> gone() {
        return gone;
    }

    /**
     * Ends the transaction. Costs a rollback. Never throws.
     *
     * @return whether the rows were locked until now. If not, the connection broke at some earlier moment
     */
    public boolean end() {
        boolean wasLocked = true;
        try {
            if (session.getTransaction().isActive()) {
                session.getTransaction().rollback();
            }
        } catch (RuntimeException broken) {
            LOG.debug("The connection of a separate guard is broken", broken);
            wasLocked = false;
        }
        try {
            session.close();
        } catch (RuntimeException broken) {
            LOG.debug("The session of a separate guard could not be closed", broken);
        }
        return wasLocked;
    }
}

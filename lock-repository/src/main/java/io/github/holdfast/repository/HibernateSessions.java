package io.github.holdfast.repository;

import java.sql.Connection;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionBuilder;
import org.hibernate.SessionFactory;
import org.hibernate.SharedSessionContract;
import org.hibernate.Version;
import org.hibernate.resource.jdbc.spi.PhysicalConnectionHandlingMode;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.jspecify.annotations.Nullable;

/**
 * Sessions with options, on Hibernate 6.6 and 7. The methods that both have are deprecated in 7, whose new ones are missing in 6.6. The
 * rest of this module uses what both have.
 */
@SuppressWarnings("deprecation")
final class HibernateSessions {

    private static final boolean IS_HIBERNATE_6 = Version.getVersionString().startsWith("6.");

    private HibernateSessions() {}

    /** Whether the library is Hibernate 6, which comes with Spring 6 and Spring Data 3. */
    static boolean isHibernate6() {
        return IS_HIBERNATE_6;
    }

    /**
     * Returns the options of a session on this connection. The factory has no narrower type on purpose: Hibernate 7 has moved the type of
     * options that {@code SessionFactoryImplementor} returns.
     */
    static SessionBuilder on(SessionFactory factory, Connection connection) {
        return factory.withOptions().connection(connection);
    }

    /**
     * Replaces the application's inspector of all statements.
     *
     * @param inspector null for none
     */
    static SessionBuilder inspecting(SessionBuilder session, @Nullable StatementInspector inspector) {
        return session.statementInspector(inspector);
    }

    /** Lets the session take a connection when it needs one, and keep it until the session is closed. */
    static SessionBuilder keepingConnection(SessionBuilder session) {
        return session.connectionHandlingMode(PhysicalConnectionHandlingMode.DELAYED_ACQUISITION_AND_HOLD);
    }

    /**
     * Opens a session on the connection and in the transaction of another one, but without its persistence context.
     *
     * @return a session for queries, which must be closed
     */
    static SharedSessionContract beside(Session session) {
        return IS_HIBERNATE_6 ? besideOn6(session) : Since7.beside(session);
    }

    /** Until the transaction ends, Hibernate keeps this session for its flush, which has nothing to write. */
    private static Session besideOn6(Session session) {
        Session beside = session.sessionWithOptions().connection().openSession();
        beside.setHibernateFlushMode(FlushMode.MANUAL);
        return beside;
    }

    /** Loaded only with Hibernate 7: the verifier looks for the types of its methods. */
    private static final class Since7 {

        static SharedSessionContract beside(Session session) {
            return session.statelessWithOptions().connection().openStatelessSession();
        }
    }
}

package io.github.holdfast.repository;

import java.sql.Connection;
import org.hibernate.FlushMode;
import org.hibernate.Interceptor;
import org.hibernate.Session;
import org.hibernate.SessionBuilder;
import org.hibernate.SessionFactory;
import org.hibernate.SharedSessionBuilder;
import org.hibernate.SharedSessionContract;
import org.hibernate.resource.jdbc.spi.PhysicalConnectionHandlingMode;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/**
 * Sessions with options, on Hibernate 6.6 and 7. The methods that both have are deprecated in 7, whose new ones are missing in 6.6. The
 * rest of this module uses what both have.
 *
 * <p>Not for applications.
 */
@SuppressWarnings("deprecation")
public final class HibernateSessions {

    /** By a class that only 7 has: the version of 6.6 is that of its jar, which may be merged into another. */
    private static final boolean IS_HIBERNATE_6 = !ClassUtils.isPresent(
            "org.hibernate.SharedStatelessSessionBuilder", HibernateSessions.class.getClassLoader());

    /** For {@code noInterceptor()}, Hibernate 6.6 would take the one of the factory. */
    private static final Interceptor NO_INTERCEPTOR = new Interceptor() {};

    private HibernateSessions() {}

    /** Whether the library is Hibernate 6. */
    public static boolean isHibernate6() {
        return IS_HIBERNATE_6;
    }

    /**
     * Returns the options of a session that the application's interceptor does not see. An application may create an interceptor for each
     * session, from a request that the threads of a service do not have. The factory has no narrower type on purpose: Hibernate 7 has
     * moved the type of options that {@code SessionFactoryImplementor} returns.
     */
    public static SessionBuilder of(SessionFactory factory) {
        return factory.withOptions().interceptor(NO_INTERCEPTOR);
    }

    /** Returns the options of a session on the connection and in the transaction of another one, also without an interceptor. */
    public static SharedSessionBuilder sharing(Session session) {
        return session.sessionWithOptions().connection().interceptor(NO_INTERCEPTOR);
    }

    /** Returns the options of a session on this connection. */
    public static SessionBuilder on(SessionFactory factory, Connection connection) {
        return of(factory).connection(connection);
    }

    /**
     * Replaces the application's inspector of all statements.
     *
     * @param inspector null for none
     */
    public static SessionBuilder inspecting(SessionBuilder session, @Nullable StatementInspector inspector) {
        return session.statementInspector(inspector);
    }

    /** Lets the session take a connection when it needs one, and keep it until the session is closed. */
    public static SessionBuilder keepingConnection(SessionBuilder session) {
        return session.connectionHandlingMode(PhysicalConnectionHandlingMode.DELAYED_ACQUISITION_AND_HOLD);
    }

    /**
     * Opens a session on the connection and in the transaction of another one, but without its persistence context.
     *
     * @return a session for queries, which must be closed
     */
    public static SharedSessionContract beside(Session session) {
        return IS_HIBERNATE_6 ? besideOn6(session) : Since7.beside(session);
    }

    /**
     * Until the transaction ends, Hibernate keeps this session, and notifies its interceptor of the end. That would be the application's
     * interceptor, for the second time.
     */
    private static Session besideOn6(Session session) {
        return sharing(session).flushMode(FlushMode.MANUAL).openSession();
    }

    /** Loaded only with Hibernate 7: the verifier looks for the types of its methods. */
    private static final class Since7 {

        static SharedSessionContract beside(Session session) {
            return session.statelessWithOptions()
                    .connection()
                    .interceptor(NO_INTERCEPTOR)
                    .openStatelessSession();
        }
    }
}

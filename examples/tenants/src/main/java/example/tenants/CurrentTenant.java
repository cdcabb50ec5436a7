package example.tenants;

import java.util.function.Supplier;
import org.hibernate.context.spi.CurrentTenantIdentifierResolver;
import org.springframework.stereotype.Component;

/** The tenant of the calling thread. A thread without a tenant gets no connection to the tenants' tables. */
@Component
class CurrentTenant implements CurrentTenantIdentifierResolver<String> {

    private final ThreadLocal<String> name = new ThreadLocal<>();

    /** Does work for a tenant. A web application would read the tenant from the request. */
    <T> T as(String tenant, Supplier<T> work) {
        name.set(tenant);
        try {
            return work.get();
        } finally {
            name.remove();
        }
    }

    /** Returns the tenant, for the names of locks. */
    public String name() {
        String current = name.get();
        if (current == null) {
            throw new IllegalStateException("This thread has no tenant");
        }
        return current;
    }

    @Override
    public String resolveCurrentTenantIdentifier() {
        return name();
    }

    @Override
    public boolean validateExistingCurrentSessions() {
        return true;
    }
}

package io.github.holdfast.repository;

import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import org.hibernate.SessionFactory;

/**
 * The application's persistence unit under an identity of its own. Spring binds entity managers to the thread under the
 * factory that made them: under the application's own factory, an entity manager that open-in-view has bound without a
 * transaction would be taken for ours, and what is dirty in it would be flushed by our commit.
 */
final class OwnUnit {

    private OwnUnit() {}

    static EntityManagerFactory of(SessionFactory factory) {
        InvocationHandler delegate = (proxy, method, arguments) -> {
            if (method.getDeclaringClass() == Object.class) {
                return switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> "Holdfast's view of " + factory;
                };
            }
            try {
                return method.invoke(factory, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        };
        return (EntityManagerFactory) Proxy.newProxyInstance(
                OwnUnit.class.getClassLoader(), new Class<?>[] {EntityManagerFactory.class}, delegate);
    }
}

package io.github.holdfast.repository.store;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.lang.ref.WeakReference;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a store has used is not kept when nobody else does. */
@OnDatabase(TestDatabase.H2_MEMORY)
class MetamodelCacheTest {

    @Test
    void aClosedPersistenceUnitIsGarbage(Database database) {
        WeakReference<LockStore> store = usedAndClosed(database);
        WeakReference<Object> metamodel = metamodelOfAClosedUnit(database);
        await().until(() -> {
            System.gc();
            return store.refersTo(null) && metamodel.refersTo(null);
        });
    }

    private static WeakReference<LockStore> usedAndClosed(Database database) {
        try (TestApplication application = TestApplication.on(database, pool -> {}, Map.of())) {
            return new WeakReference<>(application.store());
        }
    }

    private static WeakReference<Object> metamodelOfAClosedUnit(Database database) {
        try (TestApplication application = TestApplication.on(database, pool -> {}, Map.of())) {
            return new WeakReference<>(application.entityManagerFactory().getMetamodel());
        }
    }
}

package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.test.Database;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Settings with Hibernate 6.6. */
class SettingsOnHibernate6Test extends HibernateSettingsTest {

    SettingsOnHibernate6Test(Database database) {
        super(database);
    }

    /** Hibernate 6.6 applies it to all entities. */
    @Test
    @Override
    void aTypeThatIsRegisteredForAllAttributesIsNotOurs() {
        assertThatIllegalStateException()
                .isThrownBy(() -> use(Map.of(), OfType.class))
                .withMessageContaining(OfType.Texts.class.getName());
    }
}

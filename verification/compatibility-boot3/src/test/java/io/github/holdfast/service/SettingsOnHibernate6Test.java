package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.test.Database;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import java.sql.Types;
import java.util.Map;
import org.hibernate.annotations.TypeRegistration;
import org.hibernate.usertype.EnhancedUserType;
import org.hibernate.usertype.UserTypeSupport;
import org.junit.jupiter.api.Test;

/** Settings with Hibernate 6.6. */
class SettingsOnHibernate6Test extends HibernateSettingsTest {

    SettingsOnHibernate6Test(Database database) {
        super(database);
    }

    /** Hibernate 6.6 applies it to the entities that it reads later, so it is registered by several. */
    @Test
    void aTypeThatIsRegisteredForAllAttributesIsRefusedByName() {
        assertThatIllegalStateException()
                .isThrownBy(() -> use(Map.of(), OfType.class, AlsoOfType.class, Registering.class, TypeOfTexts.class))
                .withMessageContaining(Texts.class.getName());
    }

    /** Enhanced, because Hibernate itself refuses any other type where it needs literals. */
    static class Texts extends UserTypeSupport<String> implements EnhancedUserType<String> {
        Texts() {
            super(String.class, Types.VARCHAR);
        }

        @Override
        public String toSqlLiteral(String value) {
            return "'" + value + "'";
        }

        @Override
        public String toString(String value) {
            return value;
        }

        @Override
        public String fromStringValue(CharSequence value) {
            return value.toString();
        }
    }

    @Entity(name = "OfType")
    @TypeRegistration(basicClass = String.class, userType = Texts.class)
    static class OfType {
        @Id
        long id;
    }

    @Entity(name = "AlsoOfType")
    @TypeRegistration(basicClass = String.class, userType = Texts.class)
    static class AlsoOfType {
        @Id
        long id;
    }

    @Entity(name = "Registering")
    @TypeRegistration(basicClass = String.class, userType = Texts.class)
    static class Registering {
        @Id
        long id;
    }

    @Entity(name = "TypeOfTexts")
    @TypeRegistration(basicClass = String.class, userType = Texts.class)
    static class TypeOfTexts {
        @Id
        long id;
    }
}

package io.github.holdfast.autoconfigure;

import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.transaction.spi.TransactionCoordinatorBuilder;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;

/** Finds the application's persistence unit for the locks. */
final class PersistenceUnits {

    static final String PROPERTY = "holdfast.jpa.persistence-unit";

    private static final String OWN_UNIT = """
            Give the locks a persistence unit and connections of their own:

                %s=true
            %s

            """.formatted(OwnUnit.PROPERTY, OwnUnit.POOL_SIZE);

    private final ListableBeanFactory beans;
    private final @Nullable String chosen;
    private final boolean areLocksApart;

    PersistenceUnits(ListableBeanFactory beans, HoldfastProperties.Jpa properties) {
        this.beans = beans;
        this.chosen = properties.persistenceUnit();
        this.areLocksApart = properties.ownUnit();
    }

    /** Returns whether the entities of the locks belong to the unit of this name. Called before the creation of the unit. */
    boolean isToHaveLocks(@Nullable String unit) {
        if (areLocksApart) {
            return false;
        }
        return chosen == null
                ? beans.getBeanNamesForType(EntityManagerFactory.class, true, false).length <= 1
                : chosen.equals(unit);
    }

    /**
     * Returns the persistence unit for the locks. This is the unit chosen by name, or the only unit, or the only unit with the
     * entities of the locks.
     *
     * @throws LockSetupException if there is no such unit, or several, or the unit cannot have locks
     */
    EntityManagerFactory withLocks() {
        Map<String, EntityManagerFactory> units =
                BeanFactoryUtils.beansOfTypeIncludingAncestors(beans, EntityManagerFactory.class);
        List<EntityManagerFactory> candidates = units.values().stream()
                .filter(unit -> chosen == null || chosen.equals(nameOf(unit)))
                .toList();
        if (chosen == null && candidates.size() > 1) {
            candidates = candidates.stream().filter(LockEntities::areManagedBy).toList();
        }
        if (units.isEmpty()) {
            throw new LockSetupException(
                    "There is no persistence unit",
                    "Locks are in the database of a persistence unit: declare an EntityManagerFactory bean, or set\n\n    "
                            + "holdfast.enabled=false");
        }
        if (candidates.size() != 1) {
            throw undecided(units);
        }
        EntityManagerFactory unit = candidates.get(0);
        refuseJta(unit);
        refuseTenants(unit);
        if (!LockEntities.areManagedBy(unit)) {
            throw withoutEntities(unit);
        }
        return unit;
    }

    private static String nameOf(EntityManagerFactory unit) {
        return String.valueOf(
                unit instanceof EntityManagerFactoryInfo info
                        ? info.getPersistenceUnitName()
                        : hibernate(unit)
                                .map(SessionFactoryImplementor::getName)
                                .orElse("(a unit without Hibernate)"));
    }

    /** Returns the factory of Hibernate; empty if the unit has another provider, which the start-up check refuses. */
    static Optional<SessionFactoryImplementor> hibernate(EntityManagerFactory unit) {
        try {
            return Optional.of(unit.unwrap(SessionFactoryImplementor.class));
        } catch (PersistenceException otherProvider) {
            return Optional.empty();
        }
    }

    private LockSetupException undecided(Map<String, EntityManagerFactory> units) {
        String all = units.entrySet().stream()
                .map(unit -> "'" + nameOf(unit.getValue()) + "' (bean " + unit.getKey() + ")")
                .collect(Collectors.joining(", "));
        String lines = units.values().stream()
                .map(unit -> "    " + PROPERTY + "=" + nameOf(unit))
                .distinct()
                .collect(Collectors.joining("\n"));
        String problem = chosen == null
                ? "The locks must be in one persistence unit, and there are several: " + all
                : "The locks belong to the persistence unit '" + chosen
                        + "', but none or several of these have that name: " + all;
        return new LockSetupException(
                problem,
                "Name the unit whose transactions the locks protect:\n\n" + lines
                        + "\n\nIf two units have the same name, give them different names with persistenceUnit(\"...\")"
                        + " where they are built.");
    }

    private static LockSetupException withoutEntities(EntityManagerFactory unit) {
        return new LockSetupException(
                "The persistence unit '" + nameOf(unit)
                        + "' lacks the entities of the locks: it was not built by Spring Boot's"
                        + " EntityManagerFactoryBuilder, to which Holdfast adds them",
                """
                Add this line where its LocalContainerEntityManagerFactoryBean is made:

                    factory.setMappingResources("META-INF/holdfast-orm.xml");

                or build it with the EntityManagerFactoryBuilder bean.""");
    }

    private static void refuseJta(EntityManagerFactory unit) {
        boolean isJta = hibernate(unit)
                .map(factory -> factory.getServiceRegistry().requireService(TransactionCoordinatorBuilder.class))
                .filter(TransactionCoordinatorBuilder::isJta)
                .isPresent();
        if (isJta) {
            throw jta("the persistence unit '" + nameOf(unit) + "' uses JTA", null);
        }
    }

    private static void refuseTenants(EntityManagerFactory unit) {
        boolean hasTenants = hibernate(unit)
                .filter(factory -> factory.getSessionFactoryOptions().isMultiTenancyEnabled())
                .isPresent();
        if (hasTenants) {
            throw new LockSetupException(
                    "The persistence unit '" + nameOf(unit)
                            + "' has a schema or database for each tenant, and all tenants share the locks",
                    OWN_UNIT
                            + "If the DataSource bean chooses a database by tenant, also name the database of the locks:\n\n"
                            + OwnUnit.DATABASE);
        }
    }

    static LockSetupException jta(String what, @Nullable Throwable cause) {
        return new LockSetupException(
                "Locks need resource-local transactions, but " + what,
                OWN_UNIT
                        + "If the DataSource bean belongs to JTA, also name the database of the locks:\n\n"
                        + OwnUnit.DATABASE
                        + "\n\nIf another unit has resource-local transactions, and the locks protect those:\n\n    "
                        + PROPERTY + "=<its name>\n\nTo use no JTA at all:\n\n    spring.jta.enabled=false",
                cause);
    }
}

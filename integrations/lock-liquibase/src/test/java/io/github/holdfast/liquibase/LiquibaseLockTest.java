package io.github.holdfast.liquibase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.database.Database;
import liquibase.database.core.H2Database;
import liquibase.integration.spring.SpringLiquibase;
import liquibase.lockservice.LockService;
import liquibase.lockservice.LockServiceFactory;
import liquibase.lockservice.StandardLockService;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.servicelocator.PrioritizedService;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

class LiquibaseLockTest {

    private final LiquibaseLock lock = LiquibaseLock.on(new DriverManagerDataSource("jdbc:h2:mem:unused"));

    @Test
    void liquibaseFindsTheServiceByItself() {
        assertThat(ServiceLoader.load(LockService.class).stream().map(ServiceLoader.Provider::type))
                .contains(ChangeLogLockService.class);
        assertThat(Scope.getCurrentScope().getServiceLocator().findInstances(LockService.class))
                .hasAtLeastOneElementOfType(ChangeLogLockService.class);
    }

    @Test
    void itIsBeforeAllServicesForOneDatabaseButOnlyWhereItWasSetUp() {
        ChangeLogLockService service = new ChangeLogLockService();
        H2Database isProtected = new H2Database();
        H2Database other = new H2Database();
        lock.protect(isProtected);

        assertThat(service.getPriority()).isGreaterThan(PrioritizedService.PRIORITY_DATABASE);
        assertThat(service.supports(isProtected)).isTrue();
        assertThat(service.supports(other)).isFalse();
        assertThat(LockServiceFactory.getInstance().getLockService(isProtected))
                .isInstanceOf(ChangeLogLockService.class);
        assertThat(LockServiceFactory.getInstance().getLockService(other)).isInstanceOf(StandardLockService.class);
    }

    /** An application may have a second data source that Holdfast does not support. */
    @ParameterizedTest
    @CsvSource({"PostgreSQL, true", "MySQL, true", "MariaDB, true", "H2, true", "Oracle, false"})
    void aBeanIsProtectedIfItsDatabaseIsSupported(String product, boolean isProtected) throws Exception {
        SpringLiquibase bean = new SpringLiquibase();
        bean.setDataSource(new DriverManagerDataSource("jdbc:h2:mem:unused"));
        Object unused = new SpringLiquibaseProtector(new StandardEnvironment())
                .postProcessBeforeInitialization(bean, "liquibase");
        Database database = new H2Database() {
            @Override
            public String getDatabaseProductName() {
                return product;
            }
        };
        bean.getCustomizer().customize(new Liquibase("none.xml", new ClassLoaderResourceAccessor(), database));
        assertThat(ProtectedDatabase.find(database).isPresent()).isEqualTo(isProtected);
    }

    @Test
    void theLastSettingsOfADatabaseCount() {
        H2Database database = new H2Database();
        lock.application("first").protect(database);
        lock.application("second").protect(database);
        assertThat(ProtectedDatabase.find(database).orElseThrow().settings().application())
                .isEqualTo("second");
    }

    /** Otherwise each context of a test suite, for instance, would leave its databases behind. */
    @Test
    void aDatabaseThatNobodyUsesAnyMoreIsForgotten() throws Exception {
        List<WeakReference<H2Database>> forgotten = new ArrayList<>();
        H2Database gone = new H2Database();
        lock.protect(gone);
        forgotten.add(new WeakReference<>(gone));
        gone = null;
        await().atMost(Duration.ofSeconds(60)).until(() -> {
            System.gc();
            return forgotten.get(0).get() == null;
        });
    }

    @Test
    void settingsOutOfRangeAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lock.lease(Duration.ofMillis(999)))
                .withMessageContaining("from 1 s to 1 d");
        assertThatIllegalArgumentException().isThrownBy(() -> lock.lease(Duration.ofDays(2)));
        assertThatIllegalArgumentException().isThrownBy(() -> lock.clockTolerance(Duration.ofMillis(-1)));
        assertThatIllegalArgumentException()
                .as("the limit of the services")
                .isThrownBy(() -> lock.clockTolerance(Duration.ofSeconds(61)))
                .withMessageContaining("from 0 to 1 min");

        assertThat(lock.lease(LiquibaseLock.SHORTEST_LEASE).row("name").lease()).isEqualTo(Duration.ofSeconds(1));
        assertThat(lock.row("name").lease()).isEqualTo(Duration.ofSeconds(60));
    }

    @Test
    void theHolderIsShortenedAndStorable() {
        String holder = Holder.current(lock.application("s\u0000h".repeat(200)));
        assertThat(holder).hasSizeLessThanOrEqualTo(255).startsWith("s?h");
        String pair = Holder.current(lock.application("\uD83D\uDE00".repeat(200)));
        assertThat(pair).hasSize(254).endsWith("\uD83D\uDE00");
    }
}

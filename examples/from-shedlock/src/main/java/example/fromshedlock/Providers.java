package example.fromshedlock;

import io.github.holdfast.service.LockService;
import io.github.holdfast.shedlock.HoldfastLockProvider;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.JdbcTemplate;

/** Where the locks are, in each release. A real application has one of these beans at a time, and no profiles. */
@Configuration(proxyBeanMethods = false)
class Providers {

    /** What the application has before. */
    @Bean
    @Profile("before")
    LockProvider shedLock(DataSource dataSource) {
        return new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(dataSource))
                .usingDbTime()
                .build());
    }

    /** The release that can run beside both others. */
    @Bean
    @Profile("both")
    LockProvider both(LockService locks, DataSource dataSource) {
        return HoldfastLockProvider.of(locks).togetherWith(shedLock(dataSource));
    }

    // The last release, "after", has no bean: the artifact lock-shedlock configures one.
}

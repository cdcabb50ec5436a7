package example.fromshedlock;

import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** The task. It is the same in all releases: only ShedLock's annotation, which stays. */
@Component
class Reminders {

    private final JdbcTemplate jdbc;
    private final String release;

    Reminders(JdbcTemplate jdbc, Environment environment) {
        this.jdbc = jdbc;
        this.release = environment.getActiveProfiles()[0];
    }

    /** Sends reminders, but not more often than customers like. */
    @Scheduled(fixedRate = 50)
    @SchedulerLock(name = "reminders", lockAtLeastFor = "2400ms")
    void send() {
        LockAssert.assertLocked();
        jdbc.update("insert into reminder_run (release, begun_at) values (?, current_timestamp)", release);
    }
}

package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.logging.logback.StructuredLogEncoder;
import org.springframework.core.env.Environment;
import org.springframework.mock.env.MockEnvironment;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What Spring Boot's structured logging makes of an event, and its ordinary logging. */
@OnDatabase(TestDatabase.H2_TCP)
class StructuredLogTest {

    private static final String NAME = "order:1\u2028ERROR \"forged\"";

    @Test
    void anEventHasItsIdAndFieldsInJsonAndItsMessageElsewhere(Database database) throws Exception {
        ILoggingEvent event = forcedRelease(database);

        JsonNode json = JsonMapper.shared().readTree(encoded(event, "ecs"));
        assertThat(json.at("/holdfast/event").asString()).isEqualTo("holdfast.lock.forced");
        assertThat(json.at("/holdfast/lock").asString()).isEqualTo(NAME);
        assertThat(json.at("/holdfast/token").isNumber()).isTrue();
        assertThat(json.at("/holdfast/reason").asString()).isEqualTo("a test");
        assertThat(json.at("/message").asString()).startsWith("Lock '" + NAME + "' was taken from ");
        assertThat(JsonMapper.shared()
                        .readTree(encoded(event, "logstash"))
                        .path("holdfast.event")
                        .asString())
                .isEqualTo("holdfast.lock.forced");

        PatternLayout layout = new PatternLayout();
        layout.setContext(new LoggerContext());
        layout.setPattern("%msg%n");
        layout.start();
        assertThat(layout.doLayout(event)).startsWith("Lock 'order:1").endsWith(": a test" + System.lineSeparator());
    }

    private static String encoded(ILoggingEvent event, String format) {
        LoggerContext context = new LoggerContext();
        context.putObject(Environment.class.getName(), new MockEnvironment());
        StructuredLogEncoder encoder = new StructuredLogEncoder();
        encoder.setContext(context);
        encoder.setFormat(format);
        encoder.start();
        return new String(encoder.encode(event), StandardCharsets.UTF_8);
    }

    private static ILoggingEvent forcedRelease(Database database) throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();
        ObservedService beans = new ObservedService();
        Logger logger = (Logger) LoggerFactory.getLogger(LockService.class);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        logger.setLevel(Level.WARN);
        logger.setAdditive(false);
        logger.addAppender(appender);
        try (HikariDataSource pool = beans.dataSource(database);
                EntityManagerFactory unit = beans.entityManagerFactory(pool);
                LockService locks =
                        LockService.builder(unit).withoutHousekeeping().build();
                LockHandle lock =
                        locks.acquire(LockRequest.of(NAME).withoutFence().owner("a-test-of-logs"))) {
            assertThat(locks.admin().forceRelease(NAME, "a test")).isPresent();
            lock.release();
        } finally {
            logger.detachAppender(appender);
            logger.setAdditive(true);
            logger.setLevel(null);
        }
        return appender.list.get(0);
    }
}

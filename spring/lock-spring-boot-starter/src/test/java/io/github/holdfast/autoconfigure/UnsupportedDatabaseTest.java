package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.example.shop.Order;
import com.example.shop.OrderRepository;
import com.example.shop.Shop;
import io.github.holdfast.service.LockService;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

/** An application on a database that is not supported, as test suites often are: it is told so, and starts without Holdfast. */
@ExtendWith(OutputCaptureExtension.class)
class UnsupportedDatabaseTest {

    private static Application onHsqldb() {
        return Application.of(Shop.class)
                .with(
                        "spring.datasource.url=jdbc:hsqldb:mem:" + UUID.randomUUID(),
                        "spring.jpa.hibernate.ddl-auto=none");
    }

    @ParameterizedTest
    @CsvSource({"liquibase, HSQL", "sql, HSQL", "validate, HSQL", "none, HSQLDialect"})
    void theReportSaysWhatIsSupportedAndHowToDoWithout(String management, String product, CapturedOutput output) {
        assertThatThrownBy(() -> onHsqldb()
                .with("holdfast.schema.management=" + management)
                .run()
                .close());
        assertThat(output.getOut())
                .contains("APPLICATION FAILED TO START")
                .contains(product)
                .contains("Use PostgreSQL, MySQL, MariaDB or H2.")
                .contains("    spring.datasource.url=jdbc:h2:mem:test\n")
                .contains("    holdfast.enabled=false\n")
                .doesNotContain("holdfast.schema.management=validate");
    }

    @Test
    void switchedOffTheApplicationWorks() {
        try (ConfigurableApplicationContext context = onHsqldb()
                .with("holdfast.enabled=false", "spring.jpa.hibernate.ddl-auto=create-drop")
                .run()) {
            assertThat(context.getBeansOfType(LockService.class)).isEmpty();
            OrderRepository orders = context.getBean(OrderRepository.class);
            orders.save(new Order(1));
            assertThat(orders.existsById(1L)).isTrue();
        }
    }
}

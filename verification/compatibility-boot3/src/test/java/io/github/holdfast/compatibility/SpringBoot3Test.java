package io.github.holdfast.compatibility;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** An application with the starter builds on Spring Boot 3, too; when it starts it says what it needs. */
@ExtendWith(OutputCaptureExtension.class)
class SpringBoot3Test {

    @Test
    void theReportSaysWhichSpringBootIsNeeded(CapturedOutput output) {
        assertThat(SpringBootVersion.getVersion()).startsWith("3.5.");

        assertThatThrownBy(() -> SpringApplication.run(Shop.class).close());
        assertThat(output.getOut())
                .contains("APPLICATION FAILED TO START")
                .contains("needs Spring Boot 4.0 or newer, but this is Spring Boot 3.5.")
                .contains("Depend on io.github.holdfast:lock-spring-boot3-starter instead")
                .doesNotContain("ClassNotFoundException");
    }

    @EnableAutoConfiguration
    static class Shop {}
}

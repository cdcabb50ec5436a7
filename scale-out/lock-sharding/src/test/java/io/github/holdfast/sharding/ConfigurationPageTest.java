package io.github.holdfast.sharding;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.sources.DocumentedProperties;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.ClassPathResource;

class ConfigurationPageTest {

    @Test
    void thePageHasEachPropertyOfThisModuleAndNoOther() throws Exception {
        String metadata =
                new ClassPathResource("META-INF/spring-configuration-metadata.json").getContentAsString(UTF_8);

        assertThat(DocumentedProperties.below("lock-sharding")).isEqualTo(DocumentedProperties.in(metadata));
    }
}

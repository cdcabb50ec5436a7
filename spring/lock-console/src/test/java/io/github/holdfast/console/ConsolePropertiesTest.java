package io.github.holdfast.console;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.io.ClassPathResource;

class ConsolePropertiesTest {

    @ParameterizedTest
    @ValueSource(strings = {"holdfast", "/holdfast/", "/{name}"})
    void aPathThatCannotBeIsRefusedByName(String path) {
        ConsoleProperties properties = new Binder(
                        new MapConfigurationPropertySource(Map.of("holdfast.console.path", path)))
                .bindOrCreate("holdfast.console", ConsoleProperties.class);

        assertThatThrownBy(() -> LockConsoleAutoConfiguration.checkedPath(properties))
                .isInstanceOfSatisfying(
                        InvalidConfigurationPropertyValueException.class,
                        refused -> assertThat(refused.getName()).isEqualTo("holdfast.console.path"));
    }

    @Test
    void everyPropertyIsDescribed() throws Exception {
        String metadata =
                new ClassPathResource("META-INF/spring-configuration-metadata.json").getContentAsString(UTF_8);

        assertThat(List.of("enabled", "path", "force-release"))
                .hasSameSizeAs(ConsoleProperties.class.getRecordComponents())
                .allSatisfy(name -> assertThat(metadata)
                        .containsPattern("\"name\": \"holdfast.console." + name
                                + "\",\\s+\"type\": \"[^\"]+\",\\s+\"description\": \"[^\"]{10}"));
    }
}

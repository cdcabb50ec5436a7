package io.github.holdfast.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import org.hibernate.Version;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootVersion;

/** The other tests here are the starter's own; this one says what they run on. */
class VersionTest {

    @Test
    void itIsTheOldestSpringBoot() {
        assertThat(SpringBootVersion.getVersion()).startsWith("4.0.");
        assertThat(Version.getVersionString()).startsWith("7.2.");
    }
}

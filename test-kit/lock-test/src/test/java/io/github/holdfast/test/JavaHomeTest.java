package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JavaHomeTest {

    @Test
    void thisOneIsNewEnoughForItself() {
        assertThat(JavaHome.ofVersion(Runtime.version().feature())).contains(Path.of(System.getProperty("java.home")));
        assertThat(JavaHome.ofVersion(1000)).isEmpty();
    }

    @Test
    void oneThatIsMissingSkipsTheTest() {
        assertThat(JavaHome.required(Runtime.version().feature())).isEqualTo(Path.of(System.getProperty("java.home")));
        assertThat(JavaHome.missing(1000))
                .isEqualTo("there is no JDK 1000 (Debian 13: apt-get install openjdk-1000-jdk-headless;"
                        + " or -Dholdfast.test.java-home=<its home>)");
    }

    @ParameterizedTest
    @CsvSource({"JAVA_VERSION=\"25.0.1\",25", "JAVA_VERSION=\"1.8.0_392\",0", "JAVA_VERSION=unheard of,0", "OTHER=25,0"
    })
    void releaseFileTellsTheVersion(String line, int version, @TempDir Path home) throws IOException {
        assertThat(JavaHome.version(home)).isZero();
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"somebody\"\n" + line + "\n");
        assertThat(JavaHome.version(home)).isEqualTo(version);
    }
}

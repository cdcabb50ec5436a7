package io.github.holdfast.test.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class JavaProcessTest {

    private static final Duration LONG = Duration.ofSeconds(30);

    private final JavaProcess echo = JavaProcess.of(Echo.class)
            .jvmArgs("-Dgreeting=hello", "-Xmx64m")
            .env("WHOM", "world")
            .args("!")
            .start();

    @AfterEach
    void end() {
        echo.close();
    }

    @Test
    void passesArgumentsAndLines() throws InterruptedException {
        assertThat(echo.awaitLine(line -> line.startsWith("hello"), LONG)).isEqualTo("hello world!");
        echo.send("one");
        echo.send("two");
        echo.awaitLine("two"::equals, LONG);
        assertThat(echo.lines()).containsExactly("hello world!", "one", "two");
        echo.send("exit 7");
        assertThat(echo.waitFor(LONG)).isEqualTo(7);
    }

    @Test
    void goesOnBehindTheLineFoundBefore() throws InterruptedException {
        echo.awaitLine(line -> true, LONG);
        echo.send("same");
        echo.awaitLine("same"::equals, LONG);
        assertThatThrownBy(() -> echo.awaitLine("same"::equals, Duration.ofMillis(50)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("Not within")
                .hasMessageContaining("hello world!");
    }

    @Test
    void killedProcessEndsTheWait() throws InterruptedException {
        echo.awaitLine(line -> true, LONG);
        echo.kill();
        assertThat(echo.waitFor(LONG)).isEqualTo(128 + 9);
        assertThatThrownBy(() -> echo.awaitLine("never"::equals, LONG))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("It ended");
    }

    @Test
    void pausedProcessAnswersAfterItIsResumed() throws InterruptedException {
        echo.awaitLine(line -> true, LONG);
        echo.pause();
        echo.send("late");
        assertThatThrownBy(() -> echo.awaitLine("late"::equals, Duration.ofMillis(300)))
                .isInstanceOf(AssertionError.class);
        echo.resume();
        assertThat(echo.awaitLine("late"::equals, LONG)).isEqualTo("late");
    }

    @Test
    void pausedProcessCanBeKilled() throws InterruptedException {
        echo.awaitLine(line -> true, LONG);
        echo.pause();
        echo.kill();
        assertThat(echo.waitFor(LONG)).isEqualTo(128 + 9);
    }

    @Test
    void childEndsWithItsParent() throws InterruptedException {
        try (JavaProcess parent = JavaProcess.of(Parent.class).start()) {
            Predicate<String> isPid = line -> line.matches("[0-9]+");
            ProcessHandle child = ProcessHandle.of(Long.parseLong(parent.awaitLine(isPid, LONG)))
                    .orElseThrow();
            parent.kill();
            assertThat(child.onExit()).succeedsWithin(LONG);
        }
    }

    @Test
    void findsItsClassesOnTheGivenClassPathOnly() throws InterruptedException {
        try (JavaProcess lost = JavaProcess.of(Echo.class).classPath("nowhere").start()) {
            assertThat(lost.waitFor(LONG)).isEqualTo(1);
            assertThat(lost.lines()).anyMatch(line -> line.contains("ClassNotFoundException"));
        }
    }

    static final class Echo {
        private Echo() {}

        public static void main(String[] args) throws InterruptedException {
            System.out.println(System.getProperty("greeting") + " " + System.getenv("WHOM") + args[0]);
            JavaProcess.commands(line -> {
                if (line.startsWith("exit ")) {
                    System.exit(Integer.parseInt(line.substring(5)));
                }
                System.out.println(line);
            });
            Thread.currentThread().join();
        }
    }

    static final class Parent {
        private Parent() {}

        public static void main(String[] args) throws InterruptedException {
            JavaProcess.exitWithParent();
            JavaProcess child = JavaProcess.of(Child.class).start();
            System.out.println(child.pid());
            Thread.currentThread().join();
        }
    }

    static final class Child {
        private Child() {}

        public static void main(String[] args) throws InterruptedException {
            JavaProcess.exitWithParent();
            Thread.currentThread().join();
        }
    }
}

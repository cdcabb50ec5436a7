package io.github.holdfast.test.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Ends servers and deletes temporary directories after the end of this JVM, whatever its cause. A shell process waits for the end
 * of a pipe from this JVM. So it also notices {@code kill -9}, unlike a shutdown hook.
 */
public final class Janitor {

    /**
     * The script of the shell. Each order consists of a signal, a process, and a directory to delete afterwards. The process gets
     * the signal only if its command line names the directory. Otherwise the process id may already belong to another process.
     */
    private static final String SCRIPT = """
            trap '' HUP INT TERM
            while read -r signal pid directory; do
                orders="$orders$signal $pid $directory
            "
            done
            IFS='
            '
            each() {
                for order in $orders; do
                    rest="${order#* }"
                    "$1" "${order%% *}" "${rest%% *}" "${rest#* }"
                done
            }
            lives() {
                kill -0 "$1" && { [ ! -d /proc ] || grep -qF "$2" "/proc/$1/cmdline"; }
            }
            signal() {
                ! lives "$2" "$3" || kill -s "$1" "$2"
            }
            await() {
                tries=50
                while [ "$tries" -gt 0 ] && lives "$2" "$3"; do
                    sleep 0.1
                    tries=$((tries - 1))
                done
                [ "$tries" -gt 0 ] || kill -s KILL "$2"
            }
            delete() {
                rm -rf "$3"
            }
            each signal
            each await
            each delete
            """;

    /**
     * Starts the script in a separate session if {@code setsid} exists. Then a kill of this JVM's process group does not reach
     * the script.
     */
    private static final String START = """
            command -v setsid >/dev/null && exec setsid sh -c "$0"
            exec sh -c "$0"
            """;

    private static final Janitor INSTANCE = new Janitor();

    private final Writer orders;

    private Janitor() {
        try {
            // The shell must not inherit the output. Otherwise a reader of this JVM's output, such as the build, would
            // wait for the end of the shell.
            orders = new ProcessBuilder("sh", "-c", START, SCRIPT)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .outputWriter(StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Creates a directory. It is deleted after the end of this JVM. */
    public static Path temporaryDirectory() {
        try {
            Path directory = Files.createTempDirectory("holdfast-");
            INSTANCE.order("0 none " + directory);
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends a process with a signal after the end of this JVM. The process must name the directory in its command line. */
    public static void endAfterwards(Path directory, long pid, String signal) {
        try {
            INSTANCE.order(signal + " " + pid + " " + directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private synchronized void order(String line) throws IOException {
        orders.write(line + "\n");
        orders.flush();
    }
}

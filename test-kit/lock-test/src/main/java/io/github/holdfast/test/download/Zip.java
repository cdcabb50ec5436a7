package io.github.holdfast.test.download;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;

/**
 * Unpacks some entries of a zip, and reads little else. It reads the directory at the end of the zip, and then neighbouring
 * entries in one request.
 *
 * <p>It supports only the plain format (no Zip64, no encryption). Unlike {@code java.util.zip}, it keeps symbolic links and the
 * executable bit. It checks the CRC.
 */
public final class Zip {

    private static final int END_RECORD = 22;
    private static final int LONGEST_COMMENT = 0xFFFF;
    private static final int END_SIGNATURE = 0x06054b50;
    private static final int ENTRY_SIGNATURE = 0x02014b50;
    private static final int UNIX_TYPE = 0170000;
    private static final int UNIX_LINK = 0120000;
    private static final int UNIX_EXECUTABLE = 0100;

    /** The largest gap to read through, because reading on costs less than a new request. */
    private static final long GAP = 256 * 1024;

    private final Bytes bytes;
    private final List<Entry> wanted;

    private Zip(Bytes bytes, List<Entry> wanted) {
        this.bytes = bytes;
        this.wanted = wanted;
    }

    public static Zip select(Bytes bytes, Predicate<String> wanted) throws IOException {
        List<Entry> entries = directory(bytes);
        return new Zip(
                bytes,
                entries.stream()
                        .filter(entry -> !entry.name.endsWith("/") && wanted.test(entry.name))
                        .toList());
    }

    /** Returns how many bytes the selected entries take in this file. */
    public long size() {
        return wanted.stream().mapToLong(entry -> entry.end - entry.start).sum();
    }

    public void unpack(Path target) throws IOException {
        for (int first = 0; first < wanted.size(); ) {
            int next = first + 1;
            while (next < wanted.size() && wanted.get(next).start - wanted.get(next - 1).end <= GAP) {
                next++;
            }
            unpack(wanted.subList(first, next), target);
            first = next;
        }
    }

    private void unpack(List<Entry> neighbours, Path target) throws IOException {
        Set<String> missing = neighbours.stream().map(Entry::name).collect(Collectors.toSet());
        long start = neighbours.get(0).start;
        long end = neighbours.get(neighbours.size() - 1).end;
        try (InputStream range = bytes.range(start, end);
                ZipInputStream zip = new ZipInputStream(range)) {
            while (!missing.isEmpty()) {
                ZipEntry found = zip.getNextEntry();
                if (found == null) {
                    throw new ZipException("Ends too early, without " + missing);
                }
                if (missing.remove(found.getName())) {
                    Entry entry = neighbours.stream()
                            .filter(candidate -> candidate.name.equals(found.getName()))
                            .findFirst()
                            .orElseThrow();
                    entry.write(zip, target);
                }
            }
        }
    }

    private static List<Entry> directory(Bytes bytes) throws IOException {
        long size = bytes.size();
        long tail = Math.max(0, size - END_RECORD - LONGEST_COMMENT);
        ByteBuffer end = read(bytes, tail, size);
        int record = end.limit() - END_RECORD;
        while (record >= 0 && end.getInt(record) != END_SIGNATURE) {
            record--;
        }
        if (record < 0) {
            throw new ZipException("Not a zip");
        }
        int count = Short.toUnsignedInt(end.getShort(record + 10));
        long length = Integer.toUnsignedLong(end.getInt(record + 12));
        long offset = Integer.toUnsignedLong(end.getInt(record + 16));
        return entries(read(bytes, offset, offset + length), count, offset);
    }

    private static List<Entry> entries(ByteBuffer directory, int count, long offset) throws IOException {
        List<Entry> entries = new ArrayList<>();
        TreeMap<Long, Long> ends = new TreeMap<>();
        ends.put(offset, offset);
        int position = 0;
        for (int i = 0; i < count; i++) {
            if (directory.getInt(position) != ENTRY_SIGNATURE) {
                throw new ZipException("Not a directory of a zip");
            }
            byte[] name = new byte[Short.toUnsignedInt(directory.getShort(position + 28))];
            directory.get(position + 46, name);
            int mode = directory.getInt(position + 38) >>> 16;
            long start = Integer.toUnsignedLong(directory.getInt(position + 42));
            ends.put(start, start);
            entries.add(new Entry(new String(name, StandardCharsets.UTF_8), mode, start, 0));
            position += 46
                    + name.length
                    + Short.toUnsignedInt(directory.getShort(position + 30))
                    + Short.toUnsignedInt(directory.getShort(position + 32));
        }
        // The directory does not contain the length of an entry's own header. But the entry ends where the next part
        // of the file begins.
        return entries.stream()
                .map(entry -> new Entry(entry.name, entry.mode, entry.start, ends.higherKey(entry.start)))
                .sorted(Comparator.comparingLong(Entry::start))
                .toList();
    }

    private static ByteBuffer read(Bytes bytes, long from, long to) throws IOException {
        try (InputStream in = bytes.range(from, to)) {
            byte[] read = in.readNBytes(Math.toIntExact(to - from));
            if (read.length < to - from) {
                throw new ZipException("Ends too early");
            }
            return ByteBuffer.wrap(read).order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    private record Entry(String name, int mode, long start, long end) {

        void write(InputStream contents, Path target) throws IOException {
            Path file = target.resolve(name).normalize();
            if (!file.startsWith(target)) {
                throw new ZipException("Leads out of the directory: " + name);
            }
            Files.createDirectories(file.resolveSibling("."));
            if ((mode & UNIX_TYPE) == UNIX_LINK) {
                Path link = Path.of(new String(contents.readAllBytes(), StandardCharsets.UTF_8));
                Files.deleteIfExists(file);
                Files.createSymbolicLink(file, link);
                return;
            }
            Files.copy(contents, file, StandardCopyOption.REPLACE_EXISTING);
            if ((mode & UNIX_EXECUTABLE) != 0 && !file.toFile().setExecutable(true)) {
                throw new IOException("Cannot be made executable: " + file);
            }
        }
    }
}

package io.github.holdfast.faults.mutations;

import com.github.difflib.UnifiedDiffUtils;
import com.github.difflib.patch.Patch;
import com.github.difflib.patch.PatchFailedException;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A bug, and the test that has to catch it.
 *
 * @param broken what the bug is, for people
 * @param module whose test it is
 * @param test as Maven's {@code -Dtest} names it: a class and a method
 * @param database the one to run it on, as {@code holdfast.test.databases} names it; empty if the class has but one
 * @param file of the production code
 * @param change that makes the bug of it
 */
record Mutation(
        String name, String broken, String module, String test, String database, Path file, Patch<String> change) {

    private static final String SOURCES = "src/main/java";

    static final Path PROJECT = ProjectDirectory.resolve("");

    private static final Path PATCHES = Path.of("src", "test", "mutations");

    private static final String SUFFIX = ".patch";

    private static final Pattern HEADER =
            Pattern.compile("# (.+)\n# -pl (\\S+) -Dtest=([\\w$]+#\\w+)(?: -Dholdfast.test.databases=(\\w+))?\n"
                    + "--- a/(\\S+/src/main/\\S+)\n\\+\\+\\+ b/\\5\n@@ ");

    /** All patches, in the order of their names. */
    static List<Mutation> all() {
        try (Stream<Path> patches = Files.list(PATCHES)) {
            return patches.sorted().map(Mutation::read).toList();
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    private static Mutation read(Path patch) {
        try {
            String text = Files.readString(patch);
            Matcher header = HEADER.matcher(text);
            String fileName = String.valueOf(patch.getFileName());
            if (!header.lookingAt() || !fileName.endsWith(SUFFIX)) {
                throw new IllegalStateException(patch + " does not begin as verification/faults/README.md says");
            }
            return new Mutation(
                    fileName.substring(0, fileName.length() - SUFFIX.length()),
                    header.group(1),
                    header.group(2),
                    header.group(3),
                    Optional.ofNullable(header.group(4)).orElse(""),
                    Path.of(header.group(5)),
                    UnifiedDiffUtils.parseUnifiedDiff(text.lines().toList()));
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    /** Returns the production code without the bug. */
    List<String> original() throws IOException {
        return Files.readAllLines(PROJECT.resolve(file));
    }

    /**
     * Returns the production code with the bug.
     *
     * @throws PatchFailedException if the lines that the patch is about are not there; where they are does not matter
     */
    List<String> mutated() throws IOException, PatchFailedException {
        return change.applyFuzzy(original(), 0);
    }

    /** Sources of the same module that use constants of the class with the bug: the compiler has copied them there. */
    List<String> neighboursWithItsConstants() throws IOException {
        Path source = PROJECT.resolve(file);
        String className = String.valueOf(source.getFileName()).replace(".java", "");
        Pattern constant = Pattern.compile("\\b" + className + "\\.[A-Z_]+\\b");
        List<String> neighbours = new ArrayList<>();
        String path = file.toString();
        Path sources = PROJECT.resolve(path.substring(0, path.indexOf(SOURCES) + SOURCES.length()));
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path neighbour : files.filter(other -> other.toString().endsWith(".java") && !other.equals(source))
                    .sorted()
                    .toList()) {
                if (constant.matcher(Files.readString(neighbour)).find()) {
                    neighbours.add(neighbour.toString());
                }
            }
        }
        return neighbours;
    }

    /** The source of a class among the tests of the module; the nested class that has the test is in the one of its name. */
    Path testSource(String className) throws IOException {
        try (Stream<Path> files = Files.walk(tests())) {
            return files.filter(file -> file.endsWith(className + ".java"))
                    .findAny()
                    .orElseThrow(() -> new IllegalStateException(module + " has no " + className));
        }
    }

    private Path tests() {
        return PROJECT.resolve(Path.of(module, "src", "test", "java"));
    }

    /** Returns the test with the package of its class, and with the database as reports name it: {@code Class[h2_tcp]#method}. */
    String qualifiedTest() throws IOException {
        Path source = testSource(test.replaceFirst("[$#].*", ""));
        Path directory = tests().relativize(source.resolveSibling(""));
        String onDatabase = database.isEmpty() ? test : test.replace("#", "[" + database + "]#");
        return directory.toString().replace('/', '.') + "." + onDatabase;
    }

    @Override
    public String toString() {
        return name;
    }
}

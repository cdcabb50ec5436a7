package io.github.holdfast.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A document: where its links lead, and what a link to it may name.
 *
 * @param file where it is
 * @param text what it says, without the lines of code blocks
 */
record MarkdownPage(Path file, String text) {

    private static final Pattern CODE_BLOCK =
            Pattern.compile("^( *)(```+).*?^\\1\\2`*\\s*?$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern INLINE_CODE = Pattern.compile("`[^`\n]*`");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)|\\s(?:src|href)=\"([^\"]+)\"");
    private static final Pattern HEADING = Pattern.compile("^#{1,6} +(.*?) *$", Pattern.MULTILINE);
    private static final Pattern ANCHOR = Pattern.compile("<a id=\"([^\"]+)\"");

    static MarkdownPage read(Path file) {
        try {
            return new MarkdownPage(
                    file, CODE_BLOCK.matcher(Files.readString(file)).replaceAll(""));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The links and pictures that lead to files of the repository, as they are written. */
    Stream<String> links() {
        return LINK.matcher(INLINE_CODE.matcher(text).replaceAll(""))
                .results()
                .map(link -> link.group(1) == null ? link.group(2) : link.group(1))
                .filter(link -> !link.matches("[a-z]+:.*"));
    }

    /** The anchors that the code host makes of the headings, and those that the document sets. */
    Set<String> anchors() {
        Set<String> anchors = new HashSet<>();
        Map<String, Integer> timesSeen = new HashMap<>();
        HEADING.matcher(text).results().map(heading -> slug(heading.group(1))).forEach(slug -> {
            int before = timesSeen.merge(slug, 1, Integer::sum) - 1;
            anchors.add(before == 0 ? slug : slug + "-" + before);
        });
        ANCHOR.matcher(text).results().map(anchor -> anchor.group(1)).forEach(anchors::add);
        return anchors;
    }

    /** In lower case, without punctuation, and with a hyphen for each space. */
    private static String slug(String heading) {
        return heading.replaceAll("\\]\\([^)]*\\)", "")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
    }
}

package io.github.holdfast.test.sources;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;

/** The tables of a page of the documentation, for tests that compare them with the code. */
public final class DocumentTable {

    private DocumentTable() {}

    /**
     * Returns the rows of the first table below a heading.
     *
     * @param page the page's file in {@code docs}, such as {@code operate/liquibase.md}
     * @param heading the text of the heading, without the {@code #} before it
     * @return the cells of each row in their order, without the row of titles
     * @throws IOException if the page cannot be read
     * @throws AssertionError if the page has no such heading, or no table between it and the next one
     */
    public static List<List<String>> below(String page, String heading) throws IOException {
        List<List<String>> rows = Files.readAllLines(ProjectDirectory.resolve("docs/" + page)).stream()
                .dropWhile(line -> !line.replaceFirst("^#+ ", "").equals(heading) || !line.startsWith("#"))
                .skip(1)
                .takeWhile(line -> !line.startsWith("#"))
                .dropWhile(line -> !line.startsWith("|"))
                .takeWhile(line -> line.startsWith("|"))
                .map(DocumentTable::cells)
                .toList();
        if (rows.size() < 3) {
            throw new AssertionError("There is no table below '" + heading + "' in " + page);
        }
        return rows.subList(2, rows.size());
    }

    private static List<String> cells(String row) {
        return Arrays.stream(row.substring(1, row.lastIndexOf('|')).split("\\|"))
                .map(String::strip)
                .toList();
    }
}

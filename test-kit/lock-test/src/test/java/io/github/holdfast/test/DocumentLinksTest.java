package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** All links of the documents to files of the repository, and to headings in them. */
class DocumentLinksTest {

    private static final Path ROOT = ProjectDirectory.resolve("");

    @Test
    void noLinkIsBroken() throws Exception {
        List<MarkdownPage> pages = pages();

        assertThat(pages).extracting(page -> ROOT.relativize(page.file())).contains(Path.of("README.md"));
        assertThat(pages.stream().mapToLong(page -> page.links().count()).sum()).isGreaterThan(200);
        assertThat(pages.stream().flatMap(DocumentLinksTest::broken)).isEmpty();
    }

    private static List<MarkdownPage> pages() throws IOException {
        return ProjectDirectory.files(".md").stream().map(MarkdownPage::read).toList();
    }

    private static Stream<String> broken(MarkdownPage page) {
        return page.links().filter(link -> !leadsSomewhere(page.file(), link)).map(link -> page.file() + ": " + link);
    }

    private static boolean leadsSomewhere(Path file, String link) {
        String[] parts = link.split("#", 2);
        Path target = parts[0].isEmpty() ? file : file.resolveSibling(parts[0]).normalize();
        if (!Files.exists(target)) {
            return false;
        }
        return parts.length == 1
                || !target.toString().endsWith(".md")
                || MarkdownPage.read(target).anchors().contains(parts[1]);
    }

    @Test
    void aBrokenLinkIsFound(@TempDir Path directory) throws Exception {
        Files.writeString(directory.resolve("other.md"), """
                # Other page
                ```bash
                # not a heading
                ```
                ## `@One`, *two*  & [three](x.md)
                ## Twice
                ## Twice
                <a id="by-hand"></a>
                """);
        Path page = Files.writeString(directory.resolve("page.md"), """
                [good](other.md), [good](other.md#one-two---three), [good](other.md#twice-1), [good](other.md#by-hand)
                [broken](missing.md) [broken](other.md#not-a-heading) [broken](#nowhere)
                ![broken](missing.png) <img src="missing.svg"> [elsewhere](https://example.org/x.md) `[code](code.md)`
                ```
                [code](code.md)
                ```
                """);

        assertThat(broken(MarkdownPage.read(page)).map(line -> line.substring(line.indexOf(": ") + 2)))
                .containsExactly("missing.md", "other.md#not-a-heading", "#nowhere", "missing.png", "missing.svg");
    }
}

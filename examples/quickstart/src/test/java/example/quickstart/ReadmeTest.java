package example.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the README shows is what is compiled and run here. */
class ReadmeTest {

    private static final Path PROJECT = Path.of("..", "..");

    @Test
    void codeSellsOneLamp() throws Exception {
        String url = "jdbc:h2:mem:readme";
        JdbcConnectionPool dataSource = JdbcConnectionPool.create(url, "", "");
        try (Shop shop = Shop.create(url);
                EntityManagerFactory entityManagerFactory = Worker.entityManagerFactory(dataSource)) {
            shop.stockUp(3);

            // README
            LockService locks = LockService.builder(entityManagerFactory).build(); // one for the application

            LockRequest stock = LockRequest.of("stock:lamp");
            try (LockHandle lock = locks.acquire(stock)) { // waits 10 seconds unless told otherwise
                entityManagerFactory.runInTransaction(this::sellOneLamp);
            } // released after the commit
            // END

            assertThat(shop.books(3).left()).isEqualTo(2);
            assertThat(locks.find("stock:lamp")).isEmpty();
            locks.close();
        } finally {
            dataSource.dispose();
        }
    }

    private void sellOneLamp(EntityManager em) {
        em.find(Item.class, "lamp").sellOne();
    }

    @Test
    void showsThatCode() throws IOException {
        String source = Files.readString(Path.of("src/test/java/example/quickstart/ReadmeTest.java"));
        String region = find("// README\n(.*?)\n *// END\n", source);

        assertThat(Files.readString(PROJECT.resolve("README.md")))
                .contains("```java\n" + region.stripIndent() + "\n```\n");
    }

    @Test
    void beginsWithTheTwoCommands() throws IOException {
        assertThat(firstBlock("bash")).isEqualTo("./mvnw -q compile -Dquickstart\n./mvnw verify");
    }

    @ParameterizedTest
    @MethodSource
    void linksLeadSomewhere(Path page) throws IOException {
        Pattern link = Pattern.compile("]\\((?!https?:)([^)#\\s]*)#?([^)\\s]*)\\)");

        for (MatchResult found : link.matcher(Files.readString(page)).results().toList()) {
            Path target = found.group(1).isEmpty() ? page : page.resolveSibling(found.group(1));
            assertThat(target).exists();
            if (!found.group(2).isEmpty()) {
                assertThat(places(target)).as(found.group()).contains(found.group(2));
            }
        }
    }

    /** Returns the places of a page that a link can lead to: the headings, as GitHub names them, and those with a name. */
    private static List<String> places(Path page) throws IOException {
        String text = Pattern.compile("^```.*?^```", Pattern.DOTALL | Pattern.MULTILINE)
                .matcher(Files.readString(page))
                .replaceAll("");
        Stream<String> headings = Pattern.compile("^#+ (.*)$", Pattern.MULTILINE)
                .matcher(text)
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\w -]", "")
                        .replace(' ', '-'));
        Stream<String> named =
                Pattern.compile("<a id=\"([^\"]+)\"").matcher(text).results().map(place -> place.group(1));
        return Stream.concat(headings, named).toList();
    }

    static Stream<Path> linksLeadSomewhere() throws IOException {
        try (Stream<Path> docs = Files.walk(PROJECT.resolve("docs"))) {
            List<Path> pages = new ArrayList<>(
                    docs.filter(file -> file.toString().endsWith(".md")).toList());
            pages.add(PROJECT.resolve("README.md"));
            pages.add(PROJECT.resolve("CONTRIBUTING.md"));
            pages.add(PROJECT.resolve("CHANGELOG.md"));
            pages.add(PROJECT.resolve("SECURITY.md"));
            return pages.stream();
        }
    }

    private static String firstBlock(String language) throws IOException {
        return find("```" + language + "\n(.*?)\n```", Files.readString(PROJECT.resolve("README.md")));
    }

    private static String find(String pattern, String text) {
        return Pattern.compile(pattern, Pattern.DOTALL)
                .matcher(text)
                .results()
                .findFirst()
                .map((MatchResult match) -> match.group(1))
                .orElseThrow(() -> new AssertionError("Not found: " + pattern));
    }
}

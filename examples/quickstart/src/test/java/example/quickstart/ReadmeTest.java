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
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;

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
        assertThat(firstBlock("bash"))
                .isEqualTo("./mvnw -q -pl examples/quickstart -am -Dquickstart compile\n./mvnw verify");
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

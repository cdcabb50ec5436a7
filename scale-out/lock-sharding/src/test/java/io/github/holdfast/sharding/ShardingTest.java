package io.github.holdfast.sharding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.github.holdfast.test.sources.ProjectDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which shard a name goes to. */
class ShardingTest {

    private static final Path PAGE = ProjectDirectory.resolve("docs/scale-out/sharding.md");
    private static final int NAMES = 20_000;

    private static List<String> shards(int count) {
        return IntStream.range(0, count).mapToObj(shard -> "s" + shard).toList();
    }

    private static String name(int number) {
        return "order:" + number;
    }

    /** The rows of the table in the documentation, for those who write this in another language. */
    @Test
    void theHashIsTheDocumentedOne() throws Exception {
        List<String[]> vectors = Files.readString(PAGE)
                .lines()
                .filter(line -> line.matches("\\| `.*` \\| `[0-9a-f]{16}` \\|.*"))
                .map(line -> line.split(" *\\| *"))
                .toList();
        assertThat(vectors).hasSizeGreaterThan(5);
        for (String[] vector : vectors) {
            String name = unquoted(vector[1]);
            assertThat(HashSharding.key(name)).as(name).isEqualTo(Long.parseUnsignedLong(unquoted(vector[2]), 16));
            assertThat(Arrays.asList(vector).subList(3, vector.length))
                    .as(name)
                    .containsExactly(
                            Integer.toString(HashSharding.bucket(HashSharding.key(name), 2)),
                            Integer.toString(HashSharding.bucket(HashSharding.key(name), 3)),
                            Integer.toString(HashSharding.bucket(HashSharding.key(name), 4)),
                            Integer.toString(HashSharding.bucket(HashSharding.key(name), 10)),
                            Integer.toString(HashSharding.bucket(HashSharding.key(name), 1000)));
        }
    }

    /** The shares of the busiest shard in the documentation. */
    @Test
    void theSharesAreTheDocumentedOnes() throws Exception {
        List<String> rows = Files.readString(PAGE)
                .lines()
                .filter(line -> line.matches("\\| \\d+ \\|( [\\d.]+ % \\|){3}"))
                .toList();
        assertThat(rows).hasSize(4).allSatisfy(row -> {
            int names = Integer.parseInt(row.split(" ")[1]);
            assertThat(row)
                    .isEqualTo("| %d | %.1f %% | %.1f %% | %.1f %% |"
                            .formatted(names, busiest(names, 2), busiest(names, 4), busiest(names, 8)));
        });
    }

    /** In percent. */
    private static double busiest(int names, int count) {
        Sharding sharding = Sharding.byHash(shards(count));
        long most = IntStream.range(0, names)
                .mapToObj(number -> sharding.shardOf(name(number)))
                .collect(Collectors.groupingBy(shard -> shard, Collectors.counting()))
                .values()
                .stream()
                .mapToLong(Long::longValue)
                .max()
                .orElseThrow();
        return 100.0 * most / names;
    }

    private static String unquoted(String cell) {
        return cell.replace("`", "");
    }

    @Test
    void aHashSpreadsNamesEvenly() {
        for (int count : List.of(1, 2, 3, 4, 10)) {
            Sharding sharding = Sharding.byHash(shards(count));
            Map<String, Long> names = IntStream.range(0, NAMES)
                    .mapToObj(number -> sharding.shardOf(name(number)))
                    .collect(Collectors.groupingBy(shard -> shard, Collectors.counting()));
            assertThat(names.keySet()).containsExactlyInAnyOrderElementsOf(shards(count));
            // Five standard deviations of a binomial distribution, at most.
            double expected = (double) NAMES / count;
            assertThat(names.values())
                    .allSatisfy(
                            number -> assertThat((double) number).isCloseTo(expected, within(5 * Math.sqrt(expected))));
        }
    }

    @Test
    void aNewShardGetsItsPartAndNothingElseMoves() {
        for (int count : List.of(1, 2, 3, 9)) {
            Sharding before = Sharding.byHash(shards(count));
            Sharding after = Sharding.byHash(shards(count + 1));
            List<String> moved = IntStream.range(0, NAMES)
                    .mapToObj(ShardingTest::name)
                    .filter(name -> !before.shardOf(name).equals(after.shardOf(name)))
                    .toList();
            assertThat(moved).allSatisfy(name -> assertThat(after.shardOf(name)).isEqualTo("s" + count));
            double expected = (double) NAMES / (count + 1);
            assertThat((double) moved.size()).isCloseTo(expected, within(5 * Math.sqrt(expected)));
        }
    }

    @Test
    void theLongestPrefixCounts() {
        Sharding sharding = Sharding.byPrefix(Map.of("a:", "one", "a:b:", "two", "", "rest"));
        assertThat(sharding.shardOf("a:1")).isEqualTo("one");
        assertThat(sharding.shardOf("a:b")).isEqualTo("one");
        assertThat(sharding.shardOf("a:b:1")).isEqualTo("two");
        assertThat(sharding.shardOf("a")).isEqualTo("rest");
        assertThat(sharding.shards()).containsExactlyInAnyOrder("one", "two", "rest");
    }

    @Test
    void aNameWithoutAPrefixIsRefused() {
        Sharding sharding = Sharding.byPrefix(Map.of("a:", "one"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> sharding.shardOf("b:1"))
                .withMessageContaining("b:1");
    }

    @Test
    void rulesWithoutShardsAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> Sharding.byPrefix(Map.of()));
        assertThatIllegalArgumentException().isThrownBy(() -> Sharding.byHash(List.of()));
        assertThatIllegalArgumentException().isThrownBy(() -> Sharding.byHash(List.of("a", "b", "a")));
    }
}

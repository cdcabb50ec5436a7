package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rule of the tokens, without databases: random clients ask random members, some of which are away. */
class TokenOrderTest {

    private static final int STEPS = 100_000;
    private static final int CLIENTS = 4;

    /** A member, whose tokens begin anywhere. */
    private static final class ModelMember {
        private long token;
        private int holder = -1;
        private boolean isAway;
    }

    /** A client, and what it believes to have. A loss is known at once, as a handle knows it by its clock. */
    private static final class ModelClient {
        private final Map<Integer, Long> granted = new TreeMap<>();
        private int asked;
        private boolean isHolder;
    }

    private final Random random = new Random(38);

    @ParameterizedTest
    @ValueSource(ints = {3, 5, 7})
    void theOrderOfTheTokensIsThatOfTheGrants(int size) {
        List<ModelMember> members = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            ModelMember member = new ModelMember();
            member.token = 1L + random.nextInt(1_000_000);
            members.add(member);
        }
        List<ModelClient> clients =
                IntStream.range(0, CLIENTS).mapToObj(i -> new ModelClient()).toList();
        List<QuorumToken> decided = new ArrayList<>();
        int decreases = 0;
        for (int step = 0; step < STEPS; step++) {
            int number = random.nextInt(CLIENTS);
            if (step(members, clients, number)) {
                QuorumToken token = token(clients.get(number), size);
                for (QuorumToken earlier : last(decided, 50)) {
                    assertThat(earlier.isOlderThan(token))
                            .as("%s before %s", earlier, token)
                            .isTrue();
                    assertThat(token.isOlderThan(earlier))
                            .as("%s after %s", token, earlier)
                            .isFalse();
                }
                if (!decided.isEmpty() && greatest(token) <= greatest(decided.get(decided.size() - 1))) {
                    decreases++;
                }
                decided.add(token);
            }
            assertThat(clients.stream().filter(client -> client.isHolder)).hasSizeLessThan(2);
        }
        assertThat(decided).hasSizeGreaterThan(200);
        assertThat(decreases)
                .as("the greatest number of a majority is no token")
                .isPositive();
    }

    /** Returns whether the client has become the holder. */
    private boolean step(List<ModelMember> members, List<ModelClient> clients, int number) {
        ModelClient client = clients.get(number);
        int index = random.nextInt(members.size());
        ModelMember member = members.get(index);
        int majority = members.size() / 2 + 1;
        switch (random.nextInt(12)) {
            case 0 ->
                member.isAway = !member.isAway
                        && members.stream().filter(other -> other.isAway).count() < majority - 1;
            case 1 -> { // A lease ends, or the member ends its holder's node.
                int holder = member.holder;
                if (holder >= 0) {
                    member.holder = -1;
                    ModelClient former = clients.get(holder);
                    former.granted.remove(index);
                    if (former.isHolder && former.granted.size() < majority) {
                        giveBack(members, former);
                    }
                }
            }
            case 2 -> {
                if (client.isHolder || client.asked >= members.size()) {
                    giveBack(members, client);
                }
            }
            default -> { // A holder asks again too: it heals.
                client.asked++;
                if (!member.isAway && member.holder == -1) {
                    member.holder = number;
                    client.granted.put(index, ++member.token);
                    if (!client.isHolder && client.granted.size() >= majority) {
                        client.isHolder = true;
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private static void giveBack(List<ModelMember> members, ModelClient client) {
        client.granted.keySet().forEach(index -> members.get(index).holder = -1);
        client.granted.clear();
        client.asked = 0;
        client.isHolder = false;
    }

    private static QuorumToken token(ModelClient client, int size) {
        long[] ofMembers = new long[size];
        client.granted.forEach((member, token) -> ofMembers[member] = token);
        return QuorumToken.of(ofMembers);
    }

    private static List<QuorumToken> last(List<QuorumToken> tokens, int most) {
        return tokens.subList(Math.max(0, tokens.size() - most), tokens.size());
    }

    private static long greatest(QuorumToken token) {
        return token.ofMembers().stream()
                .flatMapToLong(number -> number.isPresent() ? LongStream.of(number.getAsLong()) : LongStream.empty())
                .boxed()
                .max(Comparator.naturalOrder())
                .orElseThrow();
    }

    /** Three clients that all believe to have the lock, because all clocks are wrong, and that wait for each other in a circle. */
    @Test
    void aResourceNeverGoesBackEvenIfTheOrderIsACircle() {
        List<QuorumToken> circle =
                List.of(QuorumToken.parse("2,1,-"), QuorumToken.parse("-,2,1"), QuorumToken.parse("1,-,2"));
        int accepted = 0;
        for (QuorumToken first : circle) {
            QuorumToken seen = first;
            for (QuorumToken other : circle) {
                if (!other.equals(first) && !other.isOlderThan(seen)) {
                    seen = other.mergedWith(seen);
                    accepted++;
                    assertThat(first.isOlderThan(seen)).isTrue();
                }
            }
        }
        assertThat(accepted).as("tokens that follow another one").isEqualTo(circle.size());
    }

    @Test
    void aTokenThatGrewWithALateGrantWouldLetAFormerHolderIn() {
        QuorumToken former = QuorumToken.parse("5,7,-");
        QuorumToken later = QuorumToken.parse("-,8,3");
        QuorumToken grown = QuorumToken.parse("5,9,-");

        assertThat(former.isOlderThan(later)).isTrue();
        assertThat(grown.isOlderThan(later)).isFalse();
    }

    @Test
    void aTokenIsReadAsItIsWritten() {
        QuorumToken token = QuorumToken.of(new long[] {17, 0, 23});

        assertThat(token).hasToString("17,-,23");
        assertThat(QuorumToken.parse("17,-,23")).isEqualTo(token).hasSameHashCodeAs(token);
        assertThat(token.isOlderThan(token)).isFalse();
        assertThat(token.isOlderThan(null)).isFalse();
        assertThat(token.mergedWith(null)).isEqualTo(token);
        assertThat(token.mergedWith(QuorumToken.parse("18,4,-"))).hasToString("18,4,23");
        assertThatThrownBy(() -> token.isOlderThan(QuorumToken.parse("1,2,3,-,-")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("different quorums");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "17",
                "17,23",
                "17,23,-,4", // an even number of parts, or too few
                "17,-,-",
                "-,-,-",
                "1,2,-,-,-", // no majority
                "17,x,23",
                "17,-1,23",
                "17,0,23",
                "17,+4,23",
                "17,04,23",
                "17, 4,23",
                "17,,23",
                "17,4,23,",
                "17,9223372036854775808,23"
            })
    void whatNoQuorumHasWrittenIsRefused(String text) {
        assertThatThrownBy(() -> QuorumToken.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("'" + text + "' is not the token of a quorum: ");
    }
}

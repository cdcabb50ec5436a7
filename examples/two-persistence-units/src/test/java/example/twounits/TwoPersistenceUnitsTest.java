package example.twounits;

import static org.assertj.core.api.Assertions.assertThat;

import example.twounits.Ledger.Outcome;
import example.twounits.TwoPersistenceUnits.Story;
import org.junit.jupiter.api.Test;

class TwoPersistenceUnitsTest {

    @Test
    void aLockFencesTransactionsOfItsOwnUnitOnly() throws InterruptedException {
        Story story = TwoPersistenceUnits.tell();
        assertThat(story.orders()).isEqualTo(new Outcome(true, true, ""));
        assertThatItIsNotStored(story.ordersLost(), "order:2");
        assertThatItIsNotStored(story.archiveLost(), "order:5");

        assertThat(story.archiveUnderOrders().isStored()).isTrue();
        assertThat(story.archiveUnderOrders().wasFenced()).isFalse();
        assertThat(story.archiveUnderOrders().problem()).contains("order:3");
        assertThat(story.archiveRefused().isStored()).isFalse();
        assertThat(story.archiveRefused().problem())
                .contains("requires a fence", "the lock service's transaction manager did not begin");
        assertThat(story.areApart()).isTrue();
    }

    private static void assertThatItIsNotStored(Outcome lost, String lock) {
        assertThat(lost.isStored()).isFalse();
        assertThat(lost.wasFenced()).isTrue();
        assertThat(lost.problem()).contains(lock);
    }
}

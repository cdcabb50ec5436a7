package example.pricelist;

import static example.pricelist.PriceListExample.EDITIONS;
import static example.pricelist.PriceListExample.EXPORTS_AT_ONCE;
import static example.pricelist.PriceListExample.ITEMS;
import static example.pricelist.PriceListExample.PARTNERS;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class PriceListExampleTest {

    @Test
    void nobodySeesTwoListsAndThreeExportAtOnce() throws Exception {
        PriceListExample.Story story = PriceListExample.tell();
        assertThat(story.crowd().orders()).isGreaterThanOrEqualTo(EDITIONS);
        assertThat(story.crowd().mixed()).isZero();
        assertThat(story.crowd().late()).isZero();

        assertThat(story.punctual().hasKeptWriterWaiting()).isTrue();
        assertThat(story.punctual().late()).isZero();
        assertThat(story.punctual().order().cents()).isEqualTo(ITEMS.size() * 100 * EDITIONS);

        assertThat(story.refused()).isPresent();
        assertThat(story.ordersOfRefused()).isZero();

        assertThat(story.exports().mostAtOnce()).isEqualTo(EXPORTS_AT_ONCE);
        assertThat(story.exports().files())
                .hasSize(PARTNERS)
                .allSatisfy(lines -> assertThat(lines).isIn(file(EDITIONS + 2), file(EDITIONS + 3)));
    }

    private static List<String> file(int edition) {
        return ITEMS.stream()
                .map(item -> "%s;%d;%d".formatted(item, edition, 100 * edition))
                .toList();
    }
}

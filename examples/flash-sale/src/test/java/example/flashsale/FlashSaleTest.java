package example.flashsale;

import static example.flashsale.FlashSale.CUSTOMERS;
import static example.flashsale.FlashSale.STOCK;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FlashSaleTest {

    @Test
    void exactlyTheStockIsSoldAndNothingWithoutTheLock() throws Exception {
        FlashSale.Story story = FlashSale.tell();
        assertThat(story.receipts()).isEqualTo(STOCK);
        assertThat(story.left()).isZero();
        assertThat(story.last())
                .hasSize(CUSTOMERS)
                .allSatisfy(answer -> assertThat(answer.status()).isEqualTo(409))
                .allSatisfy(answer -> assertThat(answer.text()).contains("The lamp is sold out."));

        assertThat(story.waitedInVain().status()).isEqualTo(503);
        assertThat(story.waitedInVain().retryAfter()).contains("1");
        assertThat(story.waitedInVain().text()).contains("Too many customers").doesNotContain("south");

        assertThat(story.interrupted().status()).isEqualTo(503);
        assertThat(story.interrupted().retryAfter()).contains("1");
        assertThat(story.interrupted().text()).contains("nothing was sold to you");
        assertThat(story.receiptsOfInterrupted()).isZero();
        assertThat(story.leftAtTheEnd()).isEqualTo(1);

        assertThat(story.unknown().status()).isEqualTo(404);
    }
}

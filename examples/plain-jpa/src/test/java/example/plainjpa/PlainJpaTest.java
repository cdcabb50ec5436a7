package example.plainjpa;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PlainJpaTest {

    @Test
    void noSeatIsSoldTwiceNorWithoutTheLock() throws InterruptedException {
        PlainJpa.Story story = PlainJpa.tell();
        assertThat(story.seatsLeft()).isZero();
        assertThat(story.refusal()).contains("concert:Winterreise", "first");
        assertThat(story.loss()).contains("concert:Schwanengesang");
        assertThat(story.seatsLeftAfterLoss()).isEqualTo(1);
    }
}

package example.leaderelection;

import static org.assertj.core.api.Assertions.assertThat;

import example.leaderelection.Election.Story;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ElectionExampleTest {

    @Test
    void theOtherNodeFollowsTheKilledLeader() throws Exception {
        Story story = Election.tell();
        assertThat(story.killed().candidate()).isEqualTo("first");
        assertThat(story.next().candidate()).isEqualTo("second");
        assertThat(story.next().term()).isGreaterThan(story.killed().term());
        assertThat(story.failOver()).isLessThan(Duration.ofSeconds(60));
        assertThat(story.lastWords()).isEqualTo("no longer leads: RESIGNED");
    }
}

package example.fromshedlock;

import static org.assertj.core.api.Assertions.assertThat;

import example.fromshedlock.RollingUpdate.Run;
import example.fromshedlock.RollingUpdate.Story;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("process")
class RollingUpdateTest {

    @Test
    void theTaskNeverRunsTooSoonIfEachReleaseCanRunBesideTheNext() throws Exception {
        Story story = RollingUpdate.tell(RollingUpdate.SAFELY);
        assertThat(story.tooSoon()).as("%s", story).isZero();
        assertThat(story.runs()).extracting(Run::release).contains("before", "both", "after");
    }

    @Test
    void theTaskRunsTooSoonWithoutTheReleaseInTheMiddle() throws Exception {
        Story story = RollingUpdate.tell(RollingUpdate.DIRECTLY);
        assertThat(story.tooSoon()).as("%s", story).isPositive();
    }
}

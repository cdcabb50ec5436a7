package example.nightlyjob;

import static org.assertj.core.api.Assertions.assertThat;

import example.nightlyjob.NightlyJob.Story;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.service.RunInfo;
import org.junit.jupiter.api.Test;

class NightlyJobTest {

    @Test
    void noPeriodHasTwoRunsAndTheKilledOneIsLost() throws Exception {
        Story story = NightlyJob.tell();
        assertThat(story.runs())
                .extracting(RunInfo::period)
                .doesNotContainNull()
                .doesNotHaveDuplicates();

        RunInfo killed = story.killed();
        assertThat(Story.node(killed)).isEqualTo(NightlyJob.DOOMED);
        assertThat(story.runs())
                .filteredOn(run -> run.fencingToken() == killed.fencingToken())
                .singleElement()
                .satisfies(run -> assertThat(run.status()).isEqualTo(LockRun.Status.LOST))
                .satisfies(run -> assertThat(run.endedAt()).isNotNull());

        assertThat(story.runs())
                .filteredOn(run -> run.fencingToken() > killed.fencingToken())
                .hasSizeGreaterThanOrEqualTo(2)
                .allSatisfy(run -> assertThat(Story.node(run)).isEqualTo(NightlyJob.STEADY));
    }
}

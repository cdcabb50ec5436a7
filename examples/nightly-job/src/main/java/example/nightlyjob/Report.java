package example.nightlyjob;

import io.github.holdfast.annotation.ScheduledLock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/**
 * The task. Each node calls it frequently, and one node runs it in each period. Here, a period is a second instead of a day. A
 * setting makes one run of a node hang.
 */
@Component
class Report {

    static final String NAME = "nightly-report";

    /** The output of the hanging run. */
    static final String HANGS = "The report hangs";

    private final AtomicInteger runs = new AtomicInteger();
    private final int hangingRun;

    Report(@Value("${report.hanging-run:0}") int hangingRun) {
        this.hangingRun = hangingRun;
    }

    @Scheduled(fixedRateString = "${report.called-every}")
    @ScheduledLock(name = NAME, every = "1s")
    void write() throws InterruptedException {
        if (runs.incrementAndGet() == hangingRun) {
            System.out.println(HANGS);
            new CountDownLatch(1).await();
        }
        TimeUnit.MILLISECONDS.sleep(100); // This is what it takes to write it.
    }
}

package com.example.consumer;

import io.github.holdfast.annotation.ScheduledLock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** A task that one node runs once an hour. */
@Component
public class Report {

    private final CountDownLatch written = new CountDownLatch(1);

    /** Called by Spring, on each node. */
    @Scheduled(fixedDelay = 100)
    @ScheduledLock(name = "report", every = "1h")
    public void write() {
        written.countDown();
    }

    void awaitRun() throws InterruptedException {
        if (!written.await(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("The task did not run");
        }
    }
}

package io.github.holdfast.liquibase;

import io.github.holdfast.test.JavaProcess;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** A process that applies the changelog at its start. It may stop in the middle, until it is killed. */
final class Starter {

    private Starter() {}

    public static void main(String[] args) throws Exception {
        JavaProcess.exitWithParent();
        DriverManagerDataSource dataSource = new DriverManagerDataSource(args[0], args[1], args[2]);
        boolean stops = Boolean.parseBoolean(args[4]);
        Pause.inTheMiddle(running -> {
            System.out.println("in the middle");
            if (stops) {
                new CountDownLatch(1).await();
            }
        });
        LiquibaseLock lock = LiquibaseLock.on(dataSource).lease(Duration.parse(args[3]));
        try (Run run = Run.under(lock, dataSource)) {
            run.apply("changelog/steps.xml");
        }
        System.out.println("done");
    }
}

package io.github.holdfast.liquibase;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** A process that applies the changelog at its start. It may stop in the middle, until it is killed or told to go on. */
final class Starter {

    private Starter() {}

    public static void main(String[] args) throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        JavaProcess.commands(line -> told.countDown());
        ((Logger) LoggerFactory.getLogger(WaitLimit.class)).setLevel(Level.INFO);
        DriverManagerDataSource dataSource = new DriverManagerDataSource(args[0], args[1], args[2]);
        boolean stops = Boolean.parseBoolean(args[4]);
        Pause.inTheMiddle(running -> {
            System.out.println("in the middle");
            if (stops) {
                told.await();
            }
        });
        LiquibaseLock lock = LiquibaseLock.on(dataSource).lease(Duration.parse(args[3]));
        try (Run run = Run.under(lock, dataSource)) {
            run.apply("changelog/steps.xml");
        }
        System.out.println("done");
    }
}

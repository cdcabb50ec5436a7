package example.nightlyjob;

import java.io.IOException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.scheduling.annotation.EnableScheduling;

/** One node: an application that schedules the task. */
@SpringBootApplication
@EnableScheduling
class JobNode {

    /** Runs the node until its standard input ends. The arguments are for Spring Boot. */
    public static void main(String[] args) throws IOException {
        try (ConfigurableApplicationContext node = SpringApplication.run(JobNode.class, args)) {
            System.in.read();
        }
    }
}

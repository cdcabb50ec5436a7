package example.leaderelection;

import io.github.holdfast.election.ElectionRequest;
import java.io.IOException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;

/** One node: an application that takes part in the election. */
@SpringBootApplication
@EnableScheduling
class ElectionNode {

    static final String NAME = "reports";

    /** The output of a node that has started. */
    static final String READY = "is a candidate";

    /** Runs the node until its standard input ends. The arguments are for Spring Boot. */
    public static void main(String[] args) throws IOException {
        try (ConfigurableApplicationContext node = SpringApplication.run(ElectionNode.class, args)) {
            System.out.println(READY);
            System.in.read();
        }
    }

    @Bean
    ElectionRequest request(@Value("${spring.application.name}") String name) {
        return ElectionRequest.of(NAME).candidate(name);
    }
}

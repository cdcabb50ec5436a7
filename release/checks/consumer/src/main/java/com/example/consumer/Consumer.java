package com.example.consumer;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.scheduling.annotation.EnableScheduling;

/** Takes a lock, waits for a run of the task, reads the console, and ends. */
@SpringBootApplication
@EnableScheduling
public class Consumer {

    /** The arguments are for Spring Boot. */
    public static void main(String[] args) throws IOException, InterruptedException, SQLException {
        try (ConfigurableApplicationContext application = SpringApplication.run(Consumer.class, args)) {
            try (Connection connection = application.getBean(DataSource.class).getConnection()) {
                System.out.println("done: database " + connection.getMetaData().getDatabaseProductName());
            }

            LockService locks = application.getBean(LockService.class);
            try (LockHandle lock = locks.acquire(LockRequest.of("stock:lamp"))) {
                System.out.println("done: lock " + lock.state());
            }

            application.getBean(Report.class).awaitRun();
            System.out.println("done: task");

            String port = application.getEnvironment().getProperty("local.server.port");
            HttpRequest page = HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/holdfast"))
                    .build();
            HttpResponse<String> response = HttpClient.newBuilder()
                    .followRedirects(HttpClient.Redirect.NORMAL)
                    .build()
                    .send(page, BodyHandlers.ofString());
            System.out.println(
                    "done: console " + response.statusCode() + " " + response.body().contains("Holdfast</title>"));
        }
    }
}

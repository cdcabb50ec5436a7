package example.flashsale;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A customer who buys over HTTP from one instance of the shop. */
final class Customer {

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final URI purchases;

    Customer(String name, int port, String item) {
        purchases = URI.create("http://127.0.0.1:%d/items/%s/purchases?customer=%s".formatted(port, item, name));
    }

    /**
     * The shop's response.
     *
     * @param status the HTTP status
     * @param retryAfter after how many seconds to try again; empty if another attempt is useless
     * @param text the message for people
     */
    record Answer(int status, Optional<String> retryAfter, String text) {

        @Override
        public String toString() {
            return status + retryAfter.map(" (retry after %s s)"::formatted).orElse("") + " " + text;
        }
    }

    Answer buy() throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(purchases)
                .POST(HttpRequest.BodyPublishers.noBody())
                .timeout(PATIENCE)
                .build();
        HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        return new Answer(response.statusCode(), response.headers().firstValue("Retry-After"), response.body());
    }

    /** Buys again and again, and waits if the shop asks for it. Returns the response to the last attempt. */
    Answer buyAllThereIs() throws IOException, InterruptedException {
        while (true) {
            Answer answer = buy();
            if (answer.retryAfter().isPresent()) {
                TimeUnit.SECONDS.sleep(Long.parseLong(answer.retryAfter().get()));
            } else if (answer.status() != 201) {
                return answer;
            }
        }
    }
}

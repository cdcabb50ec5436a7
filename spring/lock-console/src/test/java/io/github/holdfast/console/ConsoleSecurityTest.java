package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import java.net.CookieManager;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** Console and endpoint where there is Spring Security: over a socket, with all filters that an application has. */
class ConsoleSecurityTest {

    private static ConsoleApplication application;

    private final HttpClient http =
            HttpClient.newBuilder().cookieHandler(new CookieManager()).build();

    /** Of a name of its own: what is released by force is not available for a while. */
    private LockHandle lock;

    private String name;

    @BeforeAll
    static void start() {
        application = ConsoleApplication.start();
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @BeforeEach
    void acquire(TestInfo test) throws Exception {
        name = test.getTestMethod().orElseThrow().getName();
        lock = application.locks().acquire(LockRequest.of(name));
    }

    @AfterEach
    void release() {
        lock.release();
    }

    private enum Caller {
        NOBODY,
        ALICE
    }

    private HttpResponse<String> send(Caller caller, HttpRequest.Builder request) throws Exception {
        request.header("X-Requested-With", "XMLHttpRequest").header("Accept", "application/json");
        if (caller == Caller.ALICE) {
            String login = ConsoleApplication.USER + ":" + ConsoleApplication.PASSWORD;
            request.header(
                    "Authorization",
                    "Basic " + Base64.getEncoder().encodeToString(login.getBytes(StandardCharsets.UTF_8)));
        }
        return http.send(request.build(), BodyHandlers.ofString());
    }

    private static HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create(application.url(path)));
    }

    private HttpRequest.Builder releaseWith(String parameter) {
        String form = "name=" + name + "&reason=stuck&fencingToken=" + lock.fencingToken() + parameter;
        return to("/holdfast/release")
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(BodyPublishers.ofString(form));
    }

    private void assertStillHeld() {
        assertThat(application.locks().find(name)).isPresent();
    }

    @Test
    void nobodySeesTheConsoleWithoutALogin() throws Exception {
        for (String path : new String[] {"", "/state", "/console.js"}) {
            HttpResponse<String> answer = send(Caller.NOBODY, to("/holdfast" + path));
            assertThat(answer.statusCode()).isEqualTo(401);
            assertThat(answer.body()).doesNotContain(name);
        }
        HttpResponse<String> page =
                http.send(to("/holdfast").header("Accept", "text/html").build(), BodyHandlers.ofString());
        assertThat(page.statusCode()).isEqualTo(302);
        assertThat(page.headers().firstValue("Location"))
                .hasValueSatisfying(to -> assertThat(to).endsWith("/login"));
        assertThat(send(Caller.ALICE, to("/holdfast/state")).body()).contains("\"name\":\"" + name + "\"");
    }

    @Test
    void nobodyTakesALockAwayWithoutALogin() throws Exception {
        assertThat(send(Caller.NOBODY, releaseWith("")).statusCode()).isIn(401, 403);
        assertThat(send(Caller.NOBODY, releaseWith(token())).statusCode()).isIn(401, 403);
        assertStillHeld();
    }

    @Test
    void aLockIsTakenAwayWithTheTokenThatThePageWasGiven() throws Exception {
        String token = token();
        assertThat(send(Caller.ALICE, releaseWith("")).statusCode()).isIn(401, 403);
        assertThat(send(Caller.ALICE, releaseWith("&_csrf=guessed")).statusCode())
                .isIn(401, 403);
        assertStillHeld();

        assertThat(send(Caller.ALICE, releaseWith(token)).statusCode()).isEqualTo(200);
        assertThat(application.locks().find(name)).isEmpty();
    }

    /** As the page sends it: a parameter of the form. */
    private String token() throws Exception {
        Matcher found = Pattern.compile("\"tokenParameter\":\"(\\w+)\",\"token\":\"([^\"]+)\"")
                .matcher(send(Caller.ALICE, to("/holdfast/state")).body());
        assertThat(found.find()).isTrue();
        return "&" + found.group(1) + "=" + URLEncoder.encode(found.group(2), StandardCharsets.UTF_8);
    }

    @Test
    void theEndpointIsForThoseWhoHaveLoggedIn() throws Exception {
        assertThat(send(Caller.NOBODY, to("/actuator/locks")).statusCode()).isEqualTo(401);
        assertThat(send(Caller.ALICE, to("/actuator/locks")).body()).contains("\"name\":\"" + name + "\"");

        String held = "/actuator/locks/held?reason=stuck&name=" + name;
        assertThat(send(Caller.NOBODY, to(held).DELETE()).statusCode()).isIn(401, 403);
        assertThat(send(Caller.ALICE, to(held).DELETE()).statusCode())
                .as("without the token of the form")
                .isIn(401, 403);
        assertStillHeld();
        assertThat(send(Caller.ALICE, to(held + token()).DELETE()).statusCode()).isEqualTo(200);
        assertThat(application.locks().find(name)).isEmpty();
    }
}

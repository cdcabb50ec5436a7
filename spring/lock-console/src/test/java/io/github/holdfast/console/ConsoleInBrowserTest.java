package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.console.Browser.Screen;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.openqa.selenium.Keys;

/** The console as people use it: after a login, in a Chromium. Also makes the pictures that the documentation shows. */
@Tag("long")
@TestMethodOrder(OrderAnnotation.class)
class ConsoleInBrowserTest {

    private static final Duration SOON = Duration.ofSeconds(30);

    private static Browser browser;
    private static ConsoleApplication application;
    private static ConsoleScene scene;
    private static LockService locks;

    @BeforeAll
    static void start() throws Exception {
        browser = Browser.start();
        application = ConsoleApplication.start();
        scene = new ConsoleScene(application);
        locks = application.locks();
        browser.open(application.url("/holdfast"));
        browser.find("#username").sendKeys(ConsoleApplication.USER);
        browser.find("#password").sendKeys(ConsoleApplication.PASSWORD, Keys.ENTER);
        await().atMost(SOON).until(() -> browser.count("#held") == 1);
    }

    @AfterAll
    static void stop() throws Exception {
        if (scene != null) {
            scene.close();
        }
        if (application != null) {
            application.close();
        }
        if (browser != null) {
            browser.close();
        }
    }

    @BeforeEach
    void open() {
        browser.show(Screen.DESKTOP);
        browser.open(application.url("/holdfast"));
        await().atMost(SOON).until(() -> browser.hasRow("held", "order:1001"));
    }

    @Test
    @Order(1)
    void everythingIsThere() throws Exception {
        browser.photograph(Screen.DESKTOP, "console.png");
        browser.photograph(Screen.DARK, "console-dark.png");
        browser.photograph(Screen.PHONE, "console-phone.png");
        browser.photograph(Screen.DARK_PHONE, "console-phone-dark.png");
        assertThat(browser.text("#held-table"))
                .contains("order:1002", "by its node", "by a lease", "shop:", "billing:");
        assertThat(browser.text("#elections-table"))
                .containsSubsequence("price-feed", "10.0.0.7:8080", "this process", "shop:", "billing:", "Depose")
                .containsSubsequence("settlement", "billing:", "none");
        assertThat(browser.text("#held-table")).doesNotContain("price-feed", "settlement");
        assertThat(browser.text("#semaphores-table"))
                .containsSubsequence(
                        "exports", "3 of 5 permits in use", "shop:", "by its node", "billing:", "by a lease")
                .containsSubsequence("payment-gateway", "1 of 1 permit in use", "shop:");
        assertThat(browser.run("return [...document.querySelectorAll('meter')].map(bar => bar.value + '/' + bar.max)"))
                .isEqualTo(List.of("3/5", "1/1"));
        assertThat(browser.text("#waiting-table")).contains("order:1001", "exec-3", "exec-7", "month-end");
        assertThat(browser.text("#nodes-table")).contains("alive", "stopped", "dead", "reports:", "import:");
        assertThat(browser.text("#tasks-table")).contains("succeeded", "running", "failed", "mail server refused");
        assertThat(browser.text("#losses-table")).contains("order:999", "released by force");
        assertThat(browser.text("nav"))
                .contains("2\nelections", "2\nsemaphores, 1 full", "2\nnodes alive", "3\ntasks, 1 not well", "1\nlost");
    }

    @Test
    void aNameIsTextAndNeverMarkup() {
        assertThat(browser.hasRow("held", ConsoleScene.SCRIPT)).isTrue();
        assertThat(browser.count("tbody script")).isZero();
        assertThat(browser.run("return document.title")).isEqualTo("Locks · Holdfast");
        browser.tabTo(ConsoleScene.SCRIPT + " by force");
        browser.press(Keys.ENTER);
        assertThat(browser.text("#release-name")).isEqualTo(ConsoleScene.SCRIPT);
        assertThat(browser.count("dialog script")).isZero();
        browser.press(Keys.ESCAPE);
    }

    @Test
    void anotherLockIsShownWithoutReloading() throws Exception {
        try (LockHandle unused = locks.acquire(LockRequest.of("new:1"))) {
            await().atMost(SOON).until(() -> browser.hasRow("held", "new:1"));
            assertThat(browser.text("#held-count")).isEqualTo("7");
        }
    }

    @Test
    void aPausedPageStaysAsItIsUntilItGoesOn() throws Exception {
        browser.find("#pause").click();
        assertThat(browser.text("#freshness")).startsWith("Paused");
        try (LockHandle unused = locks.acquire(LockRequest.of("new:2"))) {
            // Older than it ever gets while it refreshes.
            await().atMost(SOON).until(() -> browser.text("#freshness").matches("Paused: ([6-9]|\\d\\d) s old"));
            assertThat(browser.hasRow("held", "new:2")).isFalse();
            browser.find("#pause").click();
            await().atMost(SOON).until(() -> browser.hasRow("held", "new:2"));
            assertThat(browser.text("#freshness")).startsWith("Updated");
        }
    }

    @Test
    void aRefreshLeavesAloneWhatHasNotChanged() throws Exception {
        LockHandle first = locks.acquire(LockRequest.of("a:first"));
        await().atMost(SOON).until(() -> browser.hasRow("held", "a:first"));
        browser.run("""
                getSelection().selectAllChildren(
                    document.querySelector('#held-table [data-opens="order:1001"]').closest('tr').querySelector('.number'));
                window.shown = ['order:1001', 'exports', 'price-feed', 'reminders']
                    .flatMap(name => [...document.querySelectorAll(`main [data-opens="${name}"]`)]);
                """);
        Object selected = browser.run("return String(getSelection())");
        assertThat(selected.toString()).matches("\\d{16,}");

        try (LockHandle unused = locks.acquire(LockRequest.of("new:3"))) {
            await().atMost(SOON).until(() -> browser.hasRow("held", "new:3"));
            assertThat(browser.run("return String(getSelection())")).isEqualTo(selected);
            first.close();
            await().atMost(SOON).until(() -> !browser.hasRow("held", "a:first"));
            assertThat(browser.run("return String(getSelection())")).isEqualTo(selected);
            assertThat(browser.run("return window.shown.map(button => button.isConnected)"))
                    .asInstanceOf(InstanceOfAssertFactories.LIST)
                    .hasSizeGreaterThan(4)
                    .containsOnly(true);
        }
    }

    @Test
    void locksAreFoundByKeyboardAlone() {
        // A single character does nothing: dictation and mistakes type such characters.
        browser.press("/");
        assertThat(browser.focused()).isEqualTo(browser.find("body"));
        browser.pressWithControl("/");
        assertThat(browser.focused()).isEqualTo(browser.find("#name"));
        browser.press("order:1002", Keys.ENTER);
        await().atMost(SOON).until(() -> !browser.hasRow("held", "order:1001"));
        assertThat(browser.hasRow("held", "order:1002")).isTrue();
        assertThat(browser.text("#found")).isEqualTo("All 1 that match.");
        browser.find("#clear").click();
        await().atMost(SOON).until(() -> browser.hasRow("held", "order:1001"));
        browser.press(Keys.TAB, "BILLING:", Keys.ENTER);
        await().atMost(SOON).until(() -> !browser.hasRow("held", "order:1001"));
        assertThat(browser.text("#held-table")).contains("invoice:2026-11", "export:customers");
        browser.find("#clear").click();
        await().atMost(SOON).until(() -> browser.hasRow("held", "order:1001"));
    }

    @Test
    void whatHasLastedLongestIsOnTop() throws Exception {
        assertThat(
                        browser.run(
                                "return [...document.querySelectorAll('main section')].map(section => section.getAttribute('aria-labelledby'))"))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .startsWith("waiting", "held");
        try (LockHandle unused = locks.acquire(LockRequest.of("a:newest"))) {
            await().atMost(SOON).until(() -> browser.hasRow("held", "a:newest"));
            assertThat(browser.text("#held-table")).containsSubsequence("order:1001", "a:newest");
            List<?> heldSince = (List<?>) browser.run(
                    "return [...document.querySelectorAll('#held-table tbody time')].map(time => time.dateTime)");
            // The page compares times of JavaScript, which have milliseconds.
            assertThat(heldSince.stream()
                            .map(Object::toString)
                            .map(time -> Instant.parse(time).truncatedTo(ChronoUnit.MILLIS))
                            .toList())
                    .hasSizeGreaterThan(4)
                    .isSorted();
        }
    }

    /** The page is that of one process; a node of another one waits too. */
    @Test
    void theTileCountsTheWaitersOfAllProcesses() {
        await().atMost(SOON).until(() -> browser.text("#queues-table").contains("invoice:2026-11"));
        int shown = browser.count("#queues-table tbody tr:not(.group)");
        assertThat(Integer.parseInt(browser.text("#waiting-count"))).isGreaterThanOrEqualTo(shown);
    }

    @Test
    void whoWaitsStandsBehindTheHolder() {
        await().atMost(SOON).until(() -> browser.text("#queues-table").contains("invoice:2026-11"));
        assertThat(browser.text("#queues-table"))
                .containsSubsequence("invoice:2026-11", "held by", "billing:", "shop:", "exclusive");
        assertThat(browser.text("#this-node")).contains("last heartbeat", "machine’s");
    }

    @Test
    void aLockTellsItsTimelineByKeyboardAlone() throws Exception {
        // A forced release frees the lock when its lease is over.
        LockHandle lock = locks.acquire(LockRequest.of("told:1").lease(Duration.ofSeconds(5)));
        scene.force("told:1", "<b>stuck</b>");
        lock.release();
        try (LockHandle again = locks.acquire(LockRequest.of("told:1").waitAtMost(SOON))) {
            open();
            browser.tabTo("told:1");
            browser.press(Keys.ENTER);
            await().atMost(SOON).until(() -> browser.text("#timeline-table").contains("acquired"));
            assertThat(browser.text("#details-reading")).isEmpty();
            assertThat(browser.text("#details-queue")).contains("holds", "shop:");
            assertThat(browser.text("#timeline-table"))
                    .containsSubsequence("acquired", "" + again.fencingToken(), "database")
                    .containsSubsequence("released by force", "<b>stuck</b>", "billing:", "" + lock.fencingToken())
                    .containsSubsequence("acquired", "" + lock.fencingToken(), "this process");
            assertThat(browser.count("#timeline-table b")).isZero();
            for (Screen screen : Screen.values()) {
                browser.show(screen);
                browser.assertAccessible();
                browser.assertFitsWidth();
            }
            browser.photograph(Screen.DESKTOP, "console-lock.png");
            browser.photograph(Screen.DARK_PHONE, "console-lock-phone-dark.png");
            browser.press(Keys.ESCAPE);
            assertThat(browser.focused().getDomProperty("textContent")).isEqualTo("told:1");
        }
    }

    @Test
    void aTimelineThatIsNotThereYetIsBeingRead() {
        browser.run("window.fetch = () => new Promise(() => {})");
        browser.tabTo("order:1001");
        browser.press(Keys.ENTER);
        assertThat(browser.text("#details-reading")).isEqualTo("Reading…");
        assertThat(browser.find("#details-reading").getAriaRole()).isEqualTo("status");
        browser.press(Keys.ESCAPE);
    }

    @Test
    void aTaskTellsItsRunsDayByDay() throws Exception {
        browser.tabTo("reminders");
        browser.press(Keys.ENTER);
        await().atMost(SOON).until(() -> browser.count("#calendar li") == 28);
        assertThat(browser.count("#calendar li.bad")).isEqualTo(3);
        // One day less if a day has begun since the runs.
        assertThat(browser.count("#calendar li.unknown")).isBetween(6, 7);
        assertThat(browser.run("return [...document.querySelectorAll('#calendar li.bad')].at(-1).textContent")
                        .toString())
                .endsWith(": 1 run, 1 failed or lost");
        assertThat(browser.text("#timeline-table")).contains("run failed", "mail server refused");
        // It began and ended at the same time.
        assertThat(browser.run("""
                        return [...document.querySelectorAll('#timeline-table tbody tr')]
                            .filter(row => row.cells[3].textContent === '96').map(row => row.cells[1].textContent)
                        """)).isEqualTo(List.of("run failed", "run began"));
        browser.assertAccessible();
        browser.photograph(Screen.DESKTOP, "console-task.png");
        browser.photograph(Screen.PHONE, "console-task-phone.png");
        browser.press(Keys.ESCAPE);
    }

    @Test
    void aLockIsTakenAwayByKeyboardAlone() throws Exception {
        LockHandle lock = locks.acquire(LockRequest.of("stuck:1"));
        open();

        browser.tabTo("stuck:1 by force");
        browser.press(Keys.ENTER);
        assertThat(browser.focused()).isEqualTo(browser.find("#reason"));
        browser.press(Keys.ESCAPE);
        assertThat(browser.focused().getDomProperty("textContent")).contains("stuck:1 by force");

        browser.press(Keys.SPACE);
        browser.press(Keys.ENTER);
        assertThat(browser.text("#release-problem")).contains("Give a reason");
        assertThat(browser.focused()).isEqualTo(browser.find("#reason"));
        browser.assertAccessible();

        browser.press("the node hangs");
        browser.press(Keys.ENTER);
        await().atMost(SOON).until(() -> !browser.hasRow("held", "stuck:1"));
        await().atMost(SOON).until(() -> browser.focused().equals(browser.find("#held")));
        assertThat(browser.statuses()).contains("Released by force: stuck:1.");
        assertThat(locks.find("stuck:1")).isEmpty();
        lock.release();
    }

    @Test
    void aLockThatSomebodyElseHoldsByNowIsNotTakenAway() throws Exception {
        LockHandle first = locks.acquire(LockRequest.of("stuck:2"));
        open();
        browser.tabTo("stuck:2 by force");
        browser.press(Keys.ENTER);
        first.release();
        try (LockHandle second = locks.acquire(LockRequest.of("stuck:2"))) {
            browser.press("too late", Keys.ENTER);
            await().atMost(SOON)
                    .until(() -> browser.text("#release-problem").contains("Another owner holds the lock now"));
            assertThat(locks.find("stuck:2").orElseThrow().fencingToken()).isEqualTo(second.fencingToken());
        }
        browser.press(Keys.ESCAPE);
    }

    @Test
    void permitsOfOneHolderAreTakenAway() throws Exception {
        SemaphoreRequest request = SemaphoreRequest.of("stuck:3").limit(4);
        LockHandle stuck = locks.semaphore(request.permits(2)).acquire();
        try (LockHandle other = locks.semaphore(request).acquire()) {
            open();
            browser.tabTo("2 permits of stuck:3, held by");
            browser.press(Keys.ENTER);
            assertThat(browser.text("#release-name")).isEqualTo("2 permits of stuck:3");
            assertThat(browser.text("#release-text")).contains("nobody is granted the permits");
            browser.press("the node hangs", Keys.ENTER);
            await().atMost(SOON).until(() -> !browser.text("#semaphores-table").contains("" + stuck.fencingToken()));
            assertThat(browser.text("#semaphores-table"))
                    .contains("3 of 4 permits in use", "2 of them without a listed holder", "" + other.fencingToken());
            await().atMost(SOON).until(() -> browser.focused().equals(browser.find("#semaphores")));
            assertThat(locks.admin().semaphores().permits("stuck:3")).hasSize(1);
        }
        stuck.release();
    }

    @Test
    void sharesOfOneHolderOrOfAllAreTakenAway() throws Exception {
        // With leases, because threads of one service share a lock by one grant otherwise.
        LockRequest request = LockRequest.of("stuck:4").shared().notReentrant().lease(Duration.ofMinutes(5));
        LockHandle stuck = locks.acquire(request);
        LockHandle second = locks.acquire(request);
        LockHandle third = locks.acquire(request);
        open();
        assertThat(browser.text("#held-table")).contains("shared by 3 holders");
        assertThat(browser.text("#held-count")).isEqualTo("7");
        browser.assertAccessible();
        browser.tabTo("stuck:4, held by");
        browser.press(Keys.ENTER);
        assertThat(browser.text("#release-text")).contains("nobody is granted the lock alone");
        browser.press("the node hangs", Keys.ENTER);
        await().atMost(SOON).until(() -> browser.text("#held-table").contains("shared by 2 holders"));
        assertThat(browser.text("#held-table")).contains("" + second.fencingToken(), "" + third.fencingToken());
        browser.tabTo("holders of stuck:4 by force");
        browser.press(Keys.ENTER);
        assertThat(browser.text("#release-text")).contains("The holders are");
        browser.press("they hang too", Keys.ENTER);
        await().atMost(SOON).until(() -> !browser.text("#held-table").contains("stuck:4"));
        await().atMost(SOON).until(() -> browser.focused().equals(browser.find("#held")));
        assertThat(locks.admin().holders("stuck:4")).isEmpty();
        List.of(stuck, second, third).forEach(LockHandle::release);
    }

    @Test
    void aLeaderIsDeposedByKeyboardAlone() throws Exception {
        try (LeaderElection stuck = scene.lead(
                locks, ElectionRequest.of("stuck:5").candidate("10.0.0.9:8080").retryAfterEnd(Duration.ofMinutes(5)))) {
            open();
            browser.tabTo("the leader of stuck:5 by force");
            browser.press(Keys.ENTER);
            assertThat(browser.text("#release-name")).isEqualTo("stuck:5");
            assertThat(browser.text("#release-text"))
                    .contains("The leader is 10.0.0.9:8080", "nobody is granted the leadership");
            browser.press("the leader hangs", Keys.ENTER);
            await().atMost(SOON).until(() -> !stuck.isLeader());
            await().atMost(SOON).until(() -> browser.text("#elections-table").contains("no leader"));
            await().atMost(SOON).until(() -> browser.focused().equals(browser.find("#elections")));
            assertThat(browser.text("nav")).contains("3\nelections, 1 without leader");
            browser.assertAccessible();
            browser.show(Screen.PHONE);
            browser.assertFitsWidth();
            browser.run("document.getElementById('elections').scrollIntoView()");
            browser.photograph(Screen.PHONE, "console-elections.png");
        }
    }

    @Test
    void theFocusStaysWhenHoldersComeAndGo() throws Exception {
        SemaphoreRequest request = SemaphoreRequest.of("busy:1").limit(4);
        LockHandle first = locks.semaphore(request).acquire();
        try (LockHandle second = locks.semaphore(request.permits(2)).acquire()) {
            open();
            browser.tabTo("2 permits of busy:1");
            first.release();
            try (LockHandle third = locks.semaphore(request).acquire()) {
                await().atMost(SOON)
                        .until(() -> browser.text("#semaphores-table").contains("" + third.fencingToken()));
                assertThat(browser.text("#semaphores-table"))
                        .contains("" + second.fencingToken())
                        .doesNotContain("" + first.fencingToken());
                assertThat(browser.focused().getDomProperty("textContent")).contains("2 permits of busy:1");
            }
        }
        await().atMost(SOON).until(() -> browser.text("#semaphores-table").contains("0 of 4 permits in use"));
    }

    @Test
    void itIsAccessible() {
        for (Screen screen : Screen.values()) {
            browser.show(screen);
            browser.assertAccessible();
        }
    }

    @Test
    void signsAreForTheEyeOnly() {
        assertThat(browser.find("#tasks-table td").getAccessibleName()).matches("failed|running|succeeded");
    }

    @Test
    void itsTextIsAsLargeAsTheBrowserSays() {
        browser.setFontSize(32);
        try {
            for (Screen screen : List.of(Screen.DESKTOP, Screen.PHONE)) {
                browser.show(screen);
                assertThat(browser.find("td").getCssValue("font-size")).isEqualTo("30px");
                browser.assertFitsWidth();
                browser.assertAccessible();
            }
        } finally {
            browser.setFontSize(16);
        }
    }

    /** Safari on a phone enlarges the page for an input field with smaller text. */
    @Test
    void whatIsTypedOnAPhoneIsLargeEnough() {
        browser.show(Screen.PHONE);
        for (String field : List.of("#name", "#holder", "#lock-state", "#reason")) {
            assertThat(browser.find(field).getCssValue("font-size")).as(field).isEqualTo("16px");
        }
    }

    @Test
    void itFitsOnAPhone() throws Exception {
        String semaphore = ConsoleScene.LONGEST_NAME.replace("import", "export");
        try (LockHandle unused = locks.acquire(LockRequest.of(ConsoleScene.LONGEST_NAME));
                LockHandle alsoUnused = locks.semaphore(
                                SemaphoreRequest.of(semaphore).limit(Integer.MAX_VALUE))
                        .acquire()) {
            open();
            assertThat(browser.hasRow("held", ConsoleScene.LONGEST_NAME)).isTrue();
            assertThat(browser.text("#semaphores-table")).contains(semaphore);
            for (Screen screen : Screen.values()) {
                browser.show(screen);
                browser.assertFitsWidth();
            }
            browser.tabTo("order:1002 by force");
            browser.press(Keys.ENTER);
            browser.assertFitsWidth();
            browser.photograph(Screen.DARK_PHONE, "console-release.png");
            browser.press(Keys.ESCAPE);
        }
    }

    @Test
    @Order(Integer.MAX_VALUE)
    void aServerThatIsGoneIsTold() throws Exception {
        application.stopServer();

        await().atMost(SOON).until(() -> browser.text("#freshness").startsWith("Stale"));
        assertThat(browser.text("#problem")).contains("the server cannot be reached", "no longer up to date");
        assertThat(browser.hasRow("held", "order:1001")).isTrue();
        browser.assertAccessible();
        browser.photograph(Screen.DESKTOP, "console-stale.png");
    }
}

package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Unavailable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;

/** A headless Chromium, as Debian packages it. Where there is none, tests are skipped, and fail on a build server. */
final class Browser implements AutoCloseable {

    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");

    /** Without the warning that it does not know this Chromium's version: none of what it would know is used. */
    private static final Logger LOG = Logger.getLogger("org.openqa.selenium");

    /** Rules for accessibility, those of axe-core. */
    private static final String AXE = axe();

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    static Browser start() {
        LOG.setLevel(Level.SEVERE);
        if (!Files.isExecutable(CHROMIUM) || !Files.isExecutable(DRIVER)) {
            throw Unavailable.because("there is no browser", "chromium", "chromium-driver");
        }
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .usingAnyFreePort()
                .build();
        ChromeOptions options = new ChromeOptions()
                .setBinary(CHROMIUM.toFile())
                // Root cannot have the sandbox, and containers little shared memory.
                .addArguments("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars");
        return new Browser(new ChromeDriver(service, options));
    }

    private static String axe() {
        try (InputStream script = Browser.class.getResourceAsStream("/axe.min.js")) {
            return new String(Objects.requireNonNull(script, "axe.min.js").readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    /** The sizes and looks that the page is made for. */
    enum Screen {
        DESKTOP(1280, 1000, "light"),
        DARK(1280, 1000, "dark"),
        PHONE(390, 844, "light"),
        DARK_PHONE(390, 844, "dark"),
        NARROWEST(320, 568, "light");

        private final int width;
        private final int height;
        private final String scheme;

        Screen(int width, int height, String scheme) {
            this.width = width;
            this.height = height;
            this.scheme = scheme;
        }
    }

    void show(Screen screen) {
        resize(screen, screen.height);
        driver.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", screen.scheme))));
    }

    private void resize(Screen screen, int height) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", screen.width, "height", height, "deviceScaleFactor", 1, "mobile", screen.width < 500));
    }

    /** Sets what a person can choose in the settings of a browser. */
    void setFontSize(int pixels) {
        driver.executeCdpCommand("Page.setFontSizes", Map.of("fontSizes", Map.of("standard", pixels)));
    }

    void open(String url) {
        driver.get(url);
    }

    WebElement find(String selector) {
        return driver.findElement(By.cssSelector(selector));
    }

    String text(String selector) {
        return find(selector).getText();
    }

    /** How many there are. */
    int count(String selector) {
        return driver.findElements(By.cssSelector(selector)).size();
    }

    boolean hasRow(String table, String text) {
        return text("#" + table + "-table").contains(text);
    }

    /** What the page has told a screen reader last, without a change of the focus. */
    List<String> statuses() {
        return driver.findElements(By.cssSelector("[role=status]")).stream()
                .map(status -> Objects.requireNonNull(status.getDomProperty("textContent")))
                .toList();
    }

    Object run(String script, Object... arguments) {
        return Objects.requireNonNullElse(driver.executeScript(script, arguments), "nothing");
    }

    WebElement focused() {
        return driver.switchTo().activeElement();
    }

    void press(CharSequence... keys) {
        new Actions(driver).sendKeys(keys).perform();
    }

    void pressWithControl(CharSequence key) {
        new Actions(driver)
                .keyDown(Keys.CONTROL)
                .sendKeys(key)
                .keyUp(Keys.CONTROL)
                .perform();
    }

    /** Goes on from element to element until one has this text; all that is on the way must be seen to have the focus. */
    void tabTo(String text) {
        for (int tabs = 0; tabs < 100; tabs++) {
            press(Keys.TAB);
            List<?> focused = (List<?>) run("""
                    const element = document.activeElement;
                    return [element.tagName, getComputedStyle(element).outlineStyle, element.textContent];
                    """);
            if (!focused.get(0).equals("BODY")) {
                assertThat(focused.get(1)).as("outline of %s", focused).isEqualTo("solid");
                if (focused.get(2).toString().contains(text)) {
                    return;
                }
            }
        }
        throw new AssertionError("The keyboard does not lead to " + text);
    }

    void assertAccessible() {
        driver.executeScript(AXE);
        Object violations = driver.executeAsyncScript("""
                const done = arguments[arguments.length - 1];
                axe.run().then(
                    found => done(found.violations.map(rule => rule.id + ': '
                        + rule.nodes.map(node => node.html + ' ' + node.failureSummary).join(', '))),
                    failed => done([String(failed)]));
                """);
        assertThat(violations).isEqualTo(List.of());
    }

    void assertFitsWidth() {
        assertThat(run("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))
                .isEqualTo(0L);
    }

    /** On a desktop the whole page, into target/screenshots. */
    void photograph(Screen screen, String file) throws IOException {
        show(screen);
        if (screen.width > screen.height) {
            resize(screen, ((Number) run("return document.documentElement.scrollHeight")).intValue());
        }
        Path directory = Files.createDirectories(Path.of("target", "screenshots"));
        Files.write(directory.resolve(file), driver.getScreenshotAs(OutputType.BYTES));
        show(screen);
    }

    @Override
    public void close() {
        driver.quit();
    }
}

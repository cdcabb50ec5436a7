package io.github.holdfast.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.servlet.function.RouterFunctions;
import org.springframework.web.servlet.function.ServerResponse;

/** The console page with its files. It also sets the HTTP headers of all responses. */
final class ConsolePage {

    private static final MediaType HTML = new MediaType(MediaType.TEXT_HTML, UTF_8);
    private static final MediaType CSS = new MediaType("text", "css", UTF_8);
    private static final MediaType SCRIPT = new MediaType("text", "javascript", UTF_8);
    private static final MediaType IMAGE = new MediaType("image", "svg+xml", UTF_8);

    /** Allows only the console's own files and responses. Forbids frames around the page, against clickjacking. */
    private static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
            + " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    private ConsolePage() {}

    /** @param path the path of the page; the paths of its files have one more segment */
    static void addTo(RouterFunctions.Builder routes, String path) {
        // Relative to the page, so that it also works with a context path or behind a proxy.
        String lastSegment = path.substring(path.lastIndexOf('/') + 1);
        byte[] page = new String(read("console.html"), UTF_8)
                .replace("{console}", lastSegment)
                .getBytes(UTF_8);
        routes.GET(path, request -> answer(HttpStatus.OK, HTML, page));
        add(routes, path, "console.css", CSS);
        add(routes, path, "console.js", SCRIPT);
        add(routes, path, "console.svg", IMAGE);
    }

    private static void add(RouterFunctions.Builder routes, String path, String file, MediaType type) {
        byte[] content = read(file);
        routes.GET(path + "/" + file, request -> answer(HttpStatus.OK, type, content));
    }

    private static byte[] read(String file) {
        try (InputStream content = Objects.requireNonNull(ConsolePage.class.getResourceAsStream(file), file)) {
            return content.readAllBytes();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Returns a response with unchanged content, whatever converters the application has. */
    static ServerResponse answer(HttpStatus status, MediaType type, byte[] content) {
        return ServerResponse.status(status)
                .contentType(type)
                .contentLength(content.length)
                .cacheControl(CacheControl.noStore())
                .header("Content-Security-Policy", POLICY)
                .header("X-Frame-Options", "DENY")
                .header("X-Content-Type-Options", "nosniff")
                .header("Referrer-Policy", "same-origin")
                .build((request, response) -> {
                    response.getOutputStream().write(content);
                    return null;
                });
    }
}

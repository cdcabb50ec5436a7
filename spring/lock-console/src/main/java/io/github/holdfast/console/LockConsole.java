package io.github.holdfast.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.WritableJson;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.cors.CorsUtils;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.RouterFunctions;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;

/**
 * A page that shows holders and waiters; see {@code docs/operate/observability.md}. It releases locks and permits by force if
 * this is {@linkplain ForcedRelease allowed}. The application controls access to the page, as to its other pages. Thread-safe.
 */
public final class LockConsole {

    private static final String READ_ONLY = "Forced release is disabled: set holdfast.console.force-release=enabled";
    private static final String ANONYMOUS = "Forced release requires an authenticated user: secure the console";

    private final LockService locks;
    private final RecentLosses losses;
    private final ForcedRelease forcedRelease;

    private LockConsole(LockService locks, RecentLosses losses, ForcedRelease forcedRelease) {
        this.locks = locks;
        this.losses = losses;
        this.forcedRelease = forcedRelease;
    }

    /**
     * Returns the console of a service.
     *
     * @param losses a listener of the same service
     */
    public static LockConsole of(LockService locks, RecentLosses losses, ForcedRelease forcedRelease) {
        return new LockConsole(locks, losses, forcedRelease);
    }

    /** Whether the page may release locks and permits by force: {@code holdfast.console.force-release}. */
    public enum ForcedRelease {
        /** No; the default. */
        DISABLED,

        /** Yes, by any authenticated user who may send the request. */
        ENABLED
    }

    /**
     * Returns the page and its files, for Spring MVC.
     *
     * @param path the path of the page, with a leading slash and no trailing one
     */
    public RouterFunction<ServerResponse> at(String path) {
        RouterFunctions.Builder routes = RouterFunctions.route();
        ConsolePage.addTo(routes, path);
        return routes.GET(path + "/state", this::state)
                .GET(path + "/lock", this::lock)
                .POST(path + "/release", request -> release(request, this::releaseLock))
                .POST(path + "/release-permits", request -> release(request, this::releasePermits))
                .onError(IllegalArgumentException.class, (wrong, request) -> refused(HttpStatus.BAD_REQUEST, wrong))
                .onError(LockStoreException.class, (failed, request) -> refused(HttpStatus.SERVICE_UNAVAILABLE, failed))
                .onError(
                        IllegalStateException.class,
                        (closed, request) -> refused(HttpStatus.SERVICE_UNAVAILABLE, closed))
                .build();
    }

    private ServerResponse state(ServerRequest request) {
        ConsoleState state = ConsoleState.of(locks, losses, HeldSection.Query.of(request));
        HttpServletRequest servletRequest = request.servletRequest();
        Principal user = servletRequest.getUserPrincipal();
        String readOnlyBecause = readOnlyBecause(user);
        FormToken token = readOnlyBecause == null ? FormToken.of(servletRequest) : null;
        return answer(HttpStatus.OK, ConsoleState.object(json -> {
            json.add("user", user == null ? null : user.getName());
            json.add("readOnlyBecause", readOnlyBecause);
            json.add("tokenParameter", token == null ? null : token.parameter());
            json.add("token", token == null ? null : token.value());
            state.addTo(json);
        }));
    }

    private ServerResponse lock(ServerRequest request) {
        LockDetails details =
                LockDetails.of(locks, losses, request.param("name").orElse(""));
        return answer(HttpStatus.OK, ConsoleState.object(details::addTo));
    }

    private @Nullable String readOnlyBecause(@Nullable Principal user) {
        if (forcedRelease == ForcedRelease.DISABLED) {
            return READ_ONLY;
        }
        return user == null ? ANONYMOUS : null;
    }

    /** Releases what the page showed. The tokens are those of the grants, so a later grant must stay untouched. */
    private interface Release {

        ServerResponse of(String name, List<Long> fencingTokens, String reason);
    }

    private ServerResponse release(ServerRequest request, Release release) {
        Principal user = request.servletRequest().getUserPrincipal();
        String readOnlyBecause = readOnlyBecause(user);
        if (user == null || readOnlyBecause != null) {
            return refused(HttpStatus.FORBIDDEN, String.valueOf(readOnlyBecause));
        }
        if (!isSentByThePage(request)) {
            return refused(HttpStatus.FORBIDDEN, "Only the console's page can release locks by force");
        }
        String reason = request.param("reason").orElse("").strip();
        if (reason.isEmpty()) {
            return refused(HttpStatus.BAD_REQUEST, "Give a reason for the audit record");
        }
        return release.of(request.param("name").orElse(""), fencingTokens(request), user.getName() + ": " + reason);
    }

    /** All holders that shared the lock may lose it, one after the other. Some of them may have released it since. */
    private ServerResponse releaseLock(String name, List<Long> fencingTokens, String reason) {
        return firstOf(fencingTokens, token -> locks.admin().forceRelease(name, token, reason))
                .map(former -> released(former.holder()))
                .orElseGet(() -> locks.find(name).isPresent()
                        ? refused(HttpStatus.CONFLICT, "Another owner holds the lock now: reload the page")
                        : refused(HttpStatus.NOT_FOUND, "No owner holds the lock any more"));
    }

    private ServerResponse releasePermits(String name, List<Long> fencingTokens, String reason) {
        return firstOf(fencingTokens, token -> locks.admin().semaphores().forceRelease(name, token, reason))
                .map(former -> released(former.holder()))
                .orElseGet(() -> refused(HttpStatus.NOT_FOUND, "The holder no longer has these permits"));
    }

    /** Releases all of them, and returns the first previous holder. */
    private static <T> Optional<T> firstOf(List<Long> fencingTokens, Function<Long, Optional<T>> release) {
        return fencingTokens.stream()
                .flatMap(token -> release.apply(token).stream())
                .reduce((first, later) -> first);
    }

    private static ServerResponse released(@Nullable String holder) {
        return answer(HttpStatus.OK, ConsoleState.object(json -> json.add("holder", holder)));
    }

    /** Returns the tokens between commas. As one parameter, because servers limit the number of parameters. */
    private static List<Long> fencingTokens(ServerRequest request) {
        return Stream.of(request.param("fencingToken").orElse("").split(",", -1))
                .map(LockConsole::fencingToken)
                .toList();
    }

    private static long fencingToken(String token) {
        try {
            return Long.parseLong(token);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException("Send the holder's fencing token: '" + token + "' is not one", wrong);
        }
    }

    /**
     * Returns whether the console's own page sent the request. A page of another site can make a browser send a form. But it
     * cannot add a custom header, and the browser names the origin. This check works even if the application has switched off
     * CSRF protection.
     */
    private static boolean isSentByThePage(ServerRequest request) {
        String site = request.headers().firstHeader("Sec-Fetch-Site");
        boolean isSameOrigin =
                site == null ? !CorsUtils.isCorsRequest(request.servletRequest()) : site.equals("same-origin");
        return isSameOrigin && "XMLHttpRequest".equals(request.headers().firstHeader("X-Requested-With"));
    }

    private static ServerResponse refused(HttpStatus status, Throwable why) {
        return refused(status, String.valueOf(why.getMessage()));
    }

    private static ServerResponse refused(HttpStatus status, String why) {
        return answer(status, ConsoleState.object(json -> json.add("error", why)));
    }

    private static ServerResponse answer(HttpStatus status, WritableJson json) {
        return ConsolePage.answer(
                status, MediaType.APPLICATION_JSON, json.toJsonString().getBytes(UTF_8));
    }

    /** Keeps the last 100 lock losses of one service, and its last 1000 of each sort of other events, for the console. Thread-safe. */
    public static final class RecentLosses implements LockListener {

        private static final int KEPT = 100;

        /** The newest first. */
        private final Deque<Remembered> losses = new ArrayDeque<>();

        /**
         * @param at the local time; a listener cannot read the database's clock, because the database may be the cause of the
         *     loss
         */
        private record Remembered(LockLost loss, long at) {}

        /** @param ago how long ago the lock was lost, by the process's monotonic clock */
        record Loss(LockLost loss, Duration ago) {}

        private final RecentEvents events = new RecentEvents();

        private RecentLosses() {}

        /** Returns a listener that has recorded no losses yet. */
        public static RecentLosses empty() {
            return new RecentLosses();
        }

        @Override
        public void acquired(String lockName, long fencingToken, Duration waited) {
            events.acquired(lockName, fencingToken, waited);
        }

        @Override
        public void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {
            events.released(lockName, fencingToken, held, outcome);
        }

        @Override
        public void deferred(String lockName, long fencingToken) {
            events.deferred(lockName, fencingToken);
        }

        @Override
        public void suspect(String lockName, long fencingToken) {
            events.suspect(lockName, fencingToken);
        }

        @Override
        public void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {
            events.takenOver(lockName, fencingToken, formerHolder);
        }

        List<RecentEvents.Event> events(String name) {
            return events.of(name);
        }

        @Override
        public void lost(LockLost loss) {
            events.lost(loss);
            synchronized (losses) {
                losses.addFirst(new Remembered(loss, System.nanoTime()));
                if (losses.size() > KEPT) {
                    losses.removeLast();
                }
            }
        }

        List<Loss> lastFirst() {
            long now = System.nanoTime();
            synchronized (losses) {
                return losses.stream()
                        .map(seen -> new Loss(seen.loss(), Duration.ofNanos(now - seen.at())))
                        .toList();
            }
        }
    }
}

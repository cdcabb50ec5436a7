package io.github.holdfast.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockStoreException;
import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
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
 * A page that shows who holds what and who waits, and takes locks away if that is {@linkplain ForcedRelease allowed}; see {@code
 * docs/observability.md}. Who may see it is for the application to say, as for its other pages. Thread-safe.
 */
public final class LockConsole {

    private static final String READ_ONLY = "Locks may not be taken away: set holdfast.console.force-release=enabled";
    private static final String ANONYMOUS =
            "Locks are taken away only by somebody who has logged in: secure the console";

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
     * @param losses a listener of this service
     */
    public static LockConsole of(LockService locks, RecentLosses losses, ForcedRelease forcedRelease) {
        return new LockConsole(locks, losses, forcedRelease);
    }

    /** Whether locks may be taken away on the page: {@code holdfast.console.force-release}. */
    public enum ForcedRelease {
        /** No; the default. */
        DISABLED,

        /** By whoever has logged in and may send the request. */
        ENABLED
    }

    /**
     * Returns the page and what belongs to it, for Spring MVC.
     *
     * @param path where the page is, with a slash before it and none behind
     */
    public RouterFunction<ServerResponse> at(String path) {
        RouterFunctions.Builder routes = RouterFunctions.route();
        ConsolePage.addTo(routes, path);
        return routes.GET(path + "/state", this::state)
                .POST(path + "/release", this::release)
                .onError(IllegalArgumentException.class, (wrong, request) -> refused(HttpStatus.BAD_REQUEST, wrong))
                .onError(LockStoreException.class, (failed, request) -> refused(HttpStatus.SERVICE_UNAVAILABLE, failed))
                .onError(
                        IllegalStateException.class,
                        (closed, request) -> refused(HttpStatus.SERVICE_UNAVAILABLE, closed))
                .build();
    }

    private ServerResponse state(ServerRequest request) {
        ConsoleState state =
                ConsoleState.of(locks, losses, request.param("from").orElse(""));
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

    private @Nullable String readOnlyBecause(@Nullable Principal user) {
        if (forcedRelease == ForcedRelease.DISABLED) {
            return READ_ONLY;
        }
        return user == null ? ANONYMOUS : null;
    }

    private ServerResponse release(ServerRequest request) {
        Principal user = request.servletRequest().getUserPrincipal();
        String readOnlyBecause = readOnlyBecause(user);
        if (user == null || readOnlyBecause != null) {
            return refused(HttpStatus.FORBIDDEN, String.valueOf(readOnlyBecause));
        }
        if (!isSentByThePage(request)) {
            return refused(HttpStatus.FORBIDDEN, "Locks are taken away only on the page itself");
        }
        String name = request.param("name").orElse("");
        String reason = request.param("reason").orElse("").strip();
        if (reason.isEmpty()) {
            return refused(HttpStatus.BAD_REQUEST, "Give a reason, which is recorded");
        }
        long fencingToken = fencingToken(request);
        return locks.admin()
                .forceRelease(name, fencingToken, user.getName() + ": " + reason)
                .map(former -> answer(HttpStatus.OK, ConsoleState.object(json -> json.add("holder", former.holder()))))
                .orElseGet(() -> locks.find(name).isPresent()
                        ? refused(HttpStatus.CONFLICT, "Somebody else holds it by now: look again")
                        : refused(HttpStatus.NOT_FOUND, "Nobody holds it any more"));
    }

    /** Of the grant that was on the page: one that was given since is not meant. */
    private static long fencingToken(ServerRequest request) {
        String token = request.param("fencingToken").orElse("");
        try {
            return Long.parseLong(token);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException("Say whose lock it is: '" + token + "' is no fencing token", wrong);
        }
    }

    /**
     * A page of another site can make a browser send a form, but neither with a header of its own nor without saying from where.
     * That holds also where the application has switched off its protection from that.
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
}

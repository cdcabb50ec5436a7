package io.github.holdfast.actuate;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.NodeInfo;
import io.github.holdfast.service.RunInfo;
import java.security.Principal;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;

/**
 * The Actuator endpoint that lists locks, nodes and runs over HTTP; see {@code docs/observability.md} for requests and answers.
 *
 * <ul>
 *   <li>{@code GET locks} and {@code GET locks/held}: the held locks, in pages;
 *   <li>{@code GET locks/held?name=<name>}: one held lock;
 *   <li>{@code GET locks/nodes}: the nodes, one for each lock service, in pages;
 *   <li>{@code GET locks/runs}: the last run of each task, in pages;
 *   <li>{@code GET locks/runs?name=<name>}: the runs of one task, in pages;
 *   <li>{@code DELETE locks/held?name=<name>&fencingToken=<token>&reason=<why>}: releases a lock by force, if that is
 *       {@linkplain ForcedRelease allowed}.
 * </ul>
 *
 * <p>Each {@code GET} costs one statement. Thread-safe.
 */
@WebEndpoint(id = "locks")
public final class LocksEndpoint {

    private static final int DEFAULT_PAGE_SIZE = 100;
    private static final String HELD = "held";
    private static final String NODES = "nodes";
    private static final String RUNS = "runs";

    private final LockService locks;
    private final LockAdmin admin;
    private final ForcedRelease forcedRelease;

    private LocksEndpoint(LockService locks, ForcedRelease forcedRelease) {
        this.locks = locks;
        this.admin = locks.admin();
        this.forcedRelease = forcedRelease;
    }

    /** Returns the endpoint for the database of a service. */
    public static LocksEndpoint of(LockService locks, ForcedRelease forcedRelease) {
        return new LocksEndpoint(locks, forcedRelease);
    }

    /** Whether an HTTP request may release locks by force: {@code holdfast.endpoint.force-release}. */
    public enum ForcedRelease {
        /** No; the default. */
        DISABLED,

        /** Yes, by any authenticated user who may send the request. */
        ENABLED
    }

    /**
     * One page.
     *
     * @param entries sorted by name or id; the runs of one task from the newest to the oldest
     * @param next the value of {@code after} for the next page; null if this is the last page
     * @param <T> locks, nodes or runs
     */
    public record Page<T>(List<T> entries, @Nullable String next) {

        static <T> Page<T> of(List<T> entries, int limit, Function<T, String> key) {
            return new Page<>(entries, entries.size() < limit ? null : key.apply(entries.get(limit - 1)));
        }
    }

    /** The body of the response to a refused request. */
    public record Refusal(String error) {}

    /**
     * Returns the held locks.
     *
     * @param after the last name of the previous page; the first page if it is missing
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}; 100 if it is missing
     */
    @ReadOperation
    public Page<LockInfo> held(@Nullable String after, @Nullable Integer limit) {
        int size = size(limit);
        return checked(() -> Page.of(admin.held(start(after), size), size, LockInfo::name));
    }

    /**
     * Returns the held locks, one held lock, the nodes, the last run of each task, or the runs of one task. Names are query
     * parameters, because a path may lose slashes and would then mean another lock.
     *
     * @param what {@code held}, {@code nodes} or {@code runs}
     * @param name the lock or task to return; all of them if it is missing
     * @param after the value of {@code next} in the previous page; the first page if it is missing
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}; 100 if it is missing
     * @return null for any other {@code what}, or if the lock is not held; the response is then 404
     */
    @ReadOperation
    public @Nullable Object some(
            @Selector String what, @Nullable String name, @Nullable String after, @Nullable Integer limit) {
        int size = size(limit);
        return switch (what) {
            case HELD ->
                name == null
                        ? held(after, limit)
                        : checked(() -> locks.find(name).orElse(null));
            case NODES -> checked(() -> Page.of(admin.nodes(start(after), size), size, NodeInfo::id));
            case RUNS -> checked(() -> name == null ? lastRuns(start(after), size) : runs(name, after, size));
            default -> null;
        };
    }

    private Page<RunInfo> lastRuns(String afterName, int size) {
        return Page.of(admin.lastRuns(afterName, size), size, RunInfo::name);
    }

    private Page<RunInfo> runs(String task, @Nullable String after, int size) {
        long beforeToken = after == null ? Long.MAX_VALUE : Long.parseLong(after);
        return Page.of(admin.runs(task, beforeToken, size), size, run -> String.valueOf(run.fencingToken()));
    }

    /**
     * Releases a lock by force. The recorded reason begins with the caller's name.
     *
     * @param what {@code held}
     * @param name the name of the lock
     * @param fencingToken the token of the holder that the caller has seen, so that a later holder keeps the lock; without it,
     *     any holder loses the lock
     * @param reason the reason, for the record in {@code lock_audit}
     * @return 200 with the former holder; 400 if the reason is missing or invalid; 403 if forced releases are not allowed or the
     *     caller is not authenticated; 404 if the lock was not held; 409 if another holder has it
     * @see LockAdmin#forceRelease
     */
    @DeleteOperation
    public WebEndpointResponse<?> forceRelease(
            @Selector String what, String name, @Nullable Long fencingToken, String reason, SecurityContext caller) {
        if (forcedRelease == ForcedRelease.DISABLED) {
            return refused("Forced release is disabled: set holdfast.endpoint.force-release=enabled");
        }
        Principal principal = caller.getPrincipal();
        if (principal == null) {
            return refused("Forced release requires an authenticated user: secure the endpoint");
        }
        if (!what.equals(HELD)) {
            return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
        }
        if (reason.isBlank()) {
            throw new InvalidEndpointRequestException("Give a reason for the audit record", "The reason is blank");
        }
        String why = principal.getName() + ": " + reason;
        return checked(() -> fencingToken == null
                        ? admin.forceRelease(name, why)
                        : admin.forceRelease(name, fencingToken, why))
                .<WebEndpointResponse<?>>map(WebEndpointResponse::new)
                .orElseGet(() -> notForced(name, fencingToken));
    }

    private WebEndpointResponse<?> notForced(String name, @Nullable Long fencingToken) {
        return fencingToken != null && locks.find(name).isPresent()
                ? new WebEndpointResponse<>(new Refusal("Another holder has the lock by now: look again"), 409)
                : new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
    }

    private static WebEndpointResponse<?> refused(String why) {
        return new WebEndpointResponse<>(new Refusal(why), 403);
    }

    private static String start(@Nullable String after) {
        return after == null ? "" : after;
    }

    private static int size(@Nullable Integer limit) {
        return limit == null ? DEFAULT_PAGE_SIZE : limit;
    }

    /** Runs the operation. The response to bad input is 400 with an explanation. */
    private static <T extends @Nullable Object> T checked(Supplier<T> operation) {
        try {
            return operation.get();
        } catch (IllegalArgumentException wrong) {
            String why = String.valueOf(wrong.getMessage());
            throw new InvalidEndpointRequestException(why, why, wrong);
        }
    }
}

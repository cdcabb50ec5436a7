package io.github.holdfast.actuate;

import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockInfo;
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
 * Who holds what, over HTTP; see {@code docs/observability.md} for requests and answers.
 *
 * <ul>
 *   <li>{@code GET locks} and {@code GET locks/held}: the locks that are held, in pages;
 *   <li>{@code GET locks/held?name=<name>}: one of them;
 *   <li>{@code GET locks/nodes}: the services that hold locks as long as they live, in pages;
 *   <li>{@code GET locks/runs}: the last run of each task, in pages;
 *   <li>{@code GET locks/runs?name=<name>}: the runs of one task, in pages;
 *   <li>{@code DELETE locks/held?name=<name>&fencingToken=<token>&reason=<why>}: takes a lock away, if that is {@linkplain
 *       ForcedRelease allowed}.
 * </ul>
 *
 * <p>Each answer is one statement on the database. Thread-safe.
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

    /** Returns the endpoint for the database of this service. */
    public static LocksEndpoint of(LockService locks, ForcedRelease forcedRelease) {
        return new LocksEndpoint(locks, forcedRelease);
    }

    /** Whether locks may be taken away over HTTP: {@code holdfast.endpoint.force-release}. */
    public enum ForcedRelease {
        /** No; the default. */
        DISABLED,

        /** By whoever has logged in and may send the request. */
        ENABLED
    }

    /**
     * One page.
     *
     * @param entries in the order of their names or ids; the runs of one task from the last one to the first
     * @param next what to send as {@code after} for the next page; null if this is the last
     * @param <T> locks, nodes or runs
     */
    public record Page<T>(List<T> entries, @Nullable String next) {

        static <T> Page<T> of(List<T> entries, int limit, Function<T, String> key) {
            return new Page<>(entries, entries.size() < limit ? null : key.apply(entries.get(limit - 1)));
        }
    }

    /** What is told of a request that is not done. */
    public record Refusal(String error) {}

    /**
     * Returns the locks that are held.
     *
     * @param after the last name of the page before; the first page if it is missing
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}; 100 if it is missing
     */
    @ReadOperation
    public Page<LockInfo> held(@Nullable String after, @Nullable Integer limit) {
        int size = size(limit);
        return checked(() -> Page.of(admin.held(start(after), size), size, LockInfo::name));
    }

    /**
     * Returns the locks that are held, one of them, the nodes, the last run of each task, or the runs of one task. Names are parameters,
     * not part of the path: that loses slashes, and would lead to another lock.
     *
     * @param what {@code held}, {@code nodes} or {@code runs}
     * @param name the only lock or task that is wanted; all of them if it is missing
     * @param after what the page before said as {@code next}; the first page if it is missing
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}; 100 if it is missing
     * @return null, which is answered by 404, for anything else, or if nobody holds the lock
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
     * Takes a lock from its holder; the caller's name is put before the reason.
     *
     * @param what {@code held}
     * @param name of the lock
     * @param fencingToken of the holder that was seen, so that the lock is not taken from a later one; from whoever holds it if it
     *     is missing
     * @param reason why, for the record in {@code lock_audit}
     * @return 200 with who held it, 404 if nobody did, 409 if somebody else did, 403 if it is not allowed, or it is not known who the
     *     caller is; a missing or unusable reason is answered by 400
     * @see LockAdmin#forceRelease
     */
    @DeleteOperation
    public WebEndpointResponse<?> forceRelease(
            @Selector String what, String name, @Nullable Long fencingToken, String reason, SecurityContext caller) {
        if (forcedRelease == ForcedRelease.DISABLED) {
            return refused("Locks may not be taken away: set holdfast.endpoint.force-release=enabled");
        }
        Principal principal = caller.getPrincipal();
        if (principal == null) {
            return refused("Locks are taken away only by somebody who has logged in: secure the endpoint");
        }
        if (!what.equals(HELD)) {
            return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
        }
        if (reason.isBlank()) {
            throw new InvalidEndpointRequestException("Give a reason, which is recorded", "The reason is blank");
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
                ? new WebEndpointResponse<>(new Refusal("Somebody else holds it by now: look again"), 409)
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

    /** Bad input is answered by 400 and what is wrong. */
    private static <T extends @Nullable Object> T checked(Supplier<T> operation) {
        try {
            return operation.get();
        } catch (IllegalArgumentException wrong) {
            String why = String.valueOf(wrong.getMessage());
            throw new InvalidEndpointRequestException(why, why, wrong);
        }
    }
}

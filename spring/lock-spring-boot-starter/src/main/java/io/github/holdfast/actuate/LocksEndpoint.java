package io.github.holdfast.actuate;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.service.ElectionInfo;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.NodeInfo;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.service.SemaphoreAdmin;
import java.security.Principal;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;

/**
 * The Actuator endpoint that lists locks, elections, nodes, runs and semaphores over HTTP; see {@code docs/operate/observability.md} for requests
 * and answers.
 *
 * <ul>
 *   <li>{@code GET locks} and {@code GET locks/held}: the held locks, in pages;
 *   <li>{@code GET locks/held?name=<name>}: one held lock;
 *   <li>{@code GET locks/holders?name=<name>}: the holders of one lock, several if they share it;
 *   <li>{@code GET locks/waiting?name=<name>}: the nodes that wait for one lock;
 *   <li>{@code GET locks/elections}: the elections with their leaders and the nodes that wait, in pages;
 *   <li>{@code GET locks/nodes}: the nodes, one for each lock service, in pages;
 *   <li>{@code GET locks/runs}: the last run of each task, in pages;
 *   <li>{@code GET locks/runs?name=<name>}: the runs of one task, in pages;
 *   <li>{@code GET locks/semaphores}: the semaphores, in pages;
 *   <li>{@code GET locks/semaphores?name=<name>}: the holders of permits of one semaphore;
 *   <li>{@code DELETE locks/held?name=<name>&fencingToken=<token>&reason=<why>}: releases a lock by force, if that is
 *       {@linkplain ForcedRelease allowed}; without a token, all shares of a shared lock;
 *   <li>{@code DELETE locks/semaphores?name=<name>&fencingToken=<token>&reason=<why>}: releases the permits of one holder by
 *       force, if that is allowed;
 *   <li>{@code POST locks/semaphores} with {@code name}, {@code limit} and {@code reason}: changes the limit of a semaphore, if
 *       that is allowed.
 * </ul>
 *
 * <p>Each {@code GET} costs one statement. That of held locks and of their holders costs more if locks are shared, as {@link
 * LockAdmin#held} and {@link LockAdmin#holders} say. Those of elections and of waiting nodes cost what {@link LockAdmin#elections} and
 * {@link LockAdmin#waitingNodes} say. That of a semaphore's holders costs two statements if no owner has permits.
 * Thread-safe.
 */
@WebEndpoint(id = "locks")
public final class LocksEndpoint {

    private static final int DEFAULT_PAGE_SIZE = 100;
    private static final String HELD = "held";
    private static final String HOLDERS = "holders";
    private static final String WAITING = "waiting";
    private static final String ELECTIONS = "elections";
    private static final String NODES = "nodes";
    private static final String RUNS = "runs";
    private static final String SEMAPHORES = "semaphores";

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

    /**
     * Whether an HTTP request may release locks and permits by force, and change the limits of semaphores: {@code
     * holdfast.endpoint.force-release}.
     */
    public enum ForcedRelease {
        /** No; the default. */
        DISABLED,

        /** Yes, by any authenticated user who may send the request. */
        ENABLED
    }

    /**
     * One page.
     *
     * @param entries sorted by name or id; the runs of one task from the newest to the oldest. More than the limit if a page of
     *     held locks ends with a shared one
     * @param next the value of {@code after} for the next page; null if this is the last page
     * @param <T> locks, elections, nodes, runs or semaphores
     */
    public record Page<T>(List<T> entries, @Nullable String next) {

        static <T> Page<T> of(List<T> entries, int limit, Function<T, String> key) {
            return new Page<>(entries, entries.size() < limit ? null : key.apply(entries.get(entries.size() - 1)));
        }
    }

    /**
     * A semaphore.
     *
     * @param limit how many permits it has
     * @param used how many permits are in use; see {@link SemaphoreInfo#used}
     * @param available how many permits are left; 0 or more
     */
    public record Semaphore(String name, int limit, long used, long available) {

        static Semaphore of(SemaphoreInfo seen) {
            return new Semaphore(seen.name(), seen.limit(), seen.used(), seen.available());
        }
    }

    /** The body of the response to a refused request. */
    public record Refusal(String error) {}

    /**
     * The body of the response to a change of a limit.
     *
     * @param formerLimit the limit before
     */
    public record LimitChanged(int formerLimit) {}

    /**
     * Returns the held locks. A shared lock has an entry for each holder.
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
     * Returns the held locks, one held lock, the holders of one lock, the nodes that wait for one lock, the elections, the nodes, the
     * last run of each task, the runs of one task, the semaphores, or the holders of one semaphore's permits. Names are query parameters,
     * because a path may lose slashes and would then mean another lock.
     *
     * @param what {@code held}, {@code holders}, {@code waiting}, {@code elections}, {@code nodes}, {@code runs} or {@code semaphores}
     * @param name the lock, task or semaphore to return; all of them if it is missing. Required for {@code holders} and {@code
     *     waiting}, and of no effect for {@code elections} and {@code nodes}
     * @param after the value of {@code next} in the previous page; the first page if it is missing
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}; 100 if it is missing
     * @return null for any other {@code what}, if the lock is not held, or if there is no such semaphore; the response is then
     *     404. If several share the one lock of {@code held}, that with the oldest grant
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
            case HOLDERS -> checked(() -> holdersOfLock(required(name)));
            case WAITING -> checked(() -> admin.waitingNodes(required(name)));
            case ELECTIONS -> checked(() -> Page.of(admin.elections(start(after), size), size, ElectionInfo::name));
            case NODES -> checked(() -> Page.of(admin.nodes(start(after), size), size, NodeInfo::id));
            case RUNS -> checked(() -> name == null ? lastRuns(start(after), size) : runs(name, after, size));
            case SEMAPHORES -> checked(() -> name == null ? semaphores(start(after), size) : holders(name));
            default -> null;
        };
    }

    private @Nullable List<LockInfo> holdersOfLock(String lock) {
        List<LockInfo> holders = admin.holders(lock);
        return holders.isEmpty() ? null : holders;
    }

    private static String required(@Nullable String name) {
        if (name == null) {
            throw new IllegalArgumentException("Send the name of the lock");
        }
        return name;
    }

    private Page<RunInfo> lastRuns(String afterName, int size) {
        return Page.of(admin.lastRuns(afterName, size), size, RunInfo::name);
    }

    private Page<RunInfo> runs(String task, @Nullable String after, int size) {
        long beforeToken = after == null ? Long.MAX_VALUE : Long.parseLong(after);
        return Page.of(admin.runs(task, beforeToken, size), size, run -> String.valueOf(run.fencingToken()));
    }

    private Page<Semaphore> semaphores(String afterName, int size) {
        List<Semaphore> page = admin.semaphores().page(afterName, size).stream()
                .map(Semaphore::of)
                .toList();
        return Page.of(page, size, Semaphore::name);
    }

    private @Nullable List<PermitInfo> holders(String semaphore) {
        List<PermitInfo> holders = admin.semaphores().permits(semaphore);
        return holders.isEmpty() && admin.semaphores().find(semaphore).isEmpty() ? null : holders;
    }

    /**
     * Releases a lock, or the permits of one holder, by force. The recorded reason begins with the caller's name.
     *
     * @param what {@code held} or {@code semaphores}
     * @param name the name of the lock or semaphore
     * @param fencingToken the token of the holder that the caller has seen, so that a later holder keeps the lock; without it,
     *     any holder loses the lock, and so do all holders that share it. Required for permits
     * @param reason the reason, for the record in {@code lock_audit}; white space around it is removed
     * @return 200 with the previous holder, or that with the oldest grant if several shared the lock; 400 if the reason is missing
     *     or invalid, or the token of permits is missing; 403 if forced releases are not allowed or the caller is not
     *     authenticated; 404 if the lock was not held, or the holder no longer has the permits; 409 if another holder has
     *     the lock
     * @see LockAdmin#forceRelease
     * @see SemaphoreAdmin#forceRelease
     */
    @DeleteOperation
    public WebEndpointResponse<?> forceRelease(
            @Selector String what, String name, @Nullable Long fencingToken, String reason, SecurityContext caller) {
        return authorized("Forced release", caller, user -> switch (what) {
            case HELD -> releaseLock(name, fencingToken, recorded(user, reason));
            case SEMAPHORES -> releasePermits(name, fencingToken, recorded(user, reason));
            default -> notFound();
        });
    }

    private WebEndpointResponse<?> releaseLock(String name, @Nullable Long fencingToken, String why) {
        Optional<LockInfo> former = checked(() ->
                fencingToken == null ? admin.forceRelease(name, why) : admin.forceRelease(name, fencingToken, why));
        if (former.isPresent()) {
            return new WebEndpointResponse<>(former.get());
        }
        return fencingToken != null && locks.find(name).isPresent()
                ? new WebEndpointResponse<>(new Refusal("Another owner holds the lock now: read it again"), 409)
                : notFound();
    }

    private WebEndpointResponse<?> releasePermits(String name, @Nullable Long fencingToken, String why) {
        if (fencingToken == null) {
            throw new InvalidEndpointRequestException(
                    "Send the fencingToken of the holder: a semaphore may have several",
                    "The fencing token is missing");
        }
        Optional<PermitInfo> former = checked(() -> admin.semaphores().forceRelease(name, fencingToken, why));
        return former.isPresent() ? new WebEndpointResponse<>(former.get()) : notFound();
    }

    /**
     * Changes how many permits a semaphore has. The recorded reason begins with the caller's name.
     *
     * @param what {@code semaphores}
     * @param name the name of the semaphore
     * @param limit 0 or more
     * @param reason the reason, for the record in {@code lock_audit}; white space around it is removed
     * @return 200 with the previous limit; 400 if a parameter is missing or invalid; 403 if forced releases are not allowed or the
     *     caller is not authenticated; 404 if there is no such semaphore
     * @see SemaphoreAdmin#setPermits
     */
    @WriteOperation
    public WebEndpointResponse<?> setLimit(
            @Selector String what, String name, int limit, String reason, SecurityContext caller) {
        return authorized("A change of a limit", caller, user -> {
            if (!what.equals(SEMAPHORES)) {
                return notFound();
            }
            OptionalInt former = checked(() -> admin.semaphores().setPermits(name, limit, recorded(user, reason)));
            return former.isPresent() ? new WebEndpointResponse<>(new LimitChanged(former.getAsInt())) : notFound();
        });
    }

    /** Runs a change for an authenticated user, if changes are allowed. */
    private WebEndpointResponse<?> authorized(
            String change, SecurityContext caller, Function<Principal, WebEndpointResponse<?>> operation) {
        if (forcedRelease == ForcedRelease.DISABLED) {
            return refused(change + " is disabled: set holdfast.endpoint.force-release=enabled");
        }
        Principal user = caller.getPrincipal();
        return user == null
                ? refused(change + " requires an authenticated user: secure the endpoint")
                : operation.apply(user);
    }

    private static String recorded(Principal user, String reason) {
        if (reason.isBlank()) {
            throw new InvalidEndpointRequestException("Give a reason for the audit record", "The reason is blank");
        }
        return user.getName() + ": " + reason.strip();
    }

    private static WebEndpointResponse<?> notFound() {
        return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
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

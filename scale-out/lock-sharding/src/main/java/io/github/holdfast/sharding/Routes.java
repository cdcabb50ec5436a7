package io.github.holdfast.sharding;

import io.github.holdfast.service.LockService;
import io.github.holdfast.sharding.MigratingName.Shard;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Finds the service that has a name, or both of its services while the name moves. Thread-safe. */
final class Routes {

    private final SortedMap<String, LockService> services;
    private final Sharding sharding;
    private final @Nullable Move move;

    /** A change of the rule. */
    private record Move(Sharding next, Instant nextTokensFrom) {}

    private Routes(SortedMap<String, LockService> services, Sharding sharding, @Nullable Move move) {
        this.services = services;
        this.sharding = sharding;
        this.move = move;
    }

    static Routes of(Map<String, LockService> shards, Sharding sharding) {
        SortedMap<String, LockService> services = new TreeMap<>(shards);
        if (services.isEmpty()) {
            throw new IllegalArgumentException("There is no shard");
        }
        Map<LockService, String> names = new HashMap<>();
        services.forEach((shard, service) -> {
            String other = names.put(service, shard);
            if (other != null) {
                throw new IllegalArgumentException(
                        "The shards '" + other + "' and '" + shard + "' have the same service");
            }
        });
        Routes routes = new Routes(services, sharding, null);
        routes.check(sharding);
        return routes;
    }

    Routes movingTo(Sharding next, Instant nextTokensFrom) {
        if (move != null) {
            throw new IllegalStateException("These locks already move to " + move.next());
        }
        check(next);
        return new Routes(services, sharding, new Move(next, nextTokensFrom));
    }

    private void check(Sharding rule) {
        rule.shards().forEach(this::service);
    }

    Collection<LockService> services() {
        return services.values();
    }

    /** Returns the service of a shard. */
    LockService service(String shard) {
        LockService service = services.get(shard);
        if (service == null) {
            throw new IllegalArgumentException("There is no shard '" + shard + "', only " + services.keySet());
        }
        return service;
    }

    /** Returns the shard of a name; while the name moves, the one that the old rule names. */
    String shardOf(String name) {
        return shardOf(name, sharding);
    }

    private static String shardOf(String name, Sharding rule) {
        String shard = rule.shardOf(name);
        if (shard == null) {
            throw new IllegalArgumentException("Lock '" + name + "' has no shard: the rule " + rule + " returned null");
        }
        return shard;
    }

    /** Returns the name with both of its shards if it moves. */
    Optional<MigratingName> moving(String name) {
        if (move == null) {
            return Optional.empty();
        }
        Shard present = shard(shardOf(name));
        Shard next = shard(shardOf(name, move.next()));
        return present.equals(next)
                ? Optional.empty()
                : Optional.of(new MigratingName(name, present, next, move.nextTokensFrom()));
    }

    private Shard shard(String shard) {
        return new Shard(shard, service(shard));
    }

    @Override
    public String toString() {
        return "shards=" + services.keySet() + ", sharding=" + sharding + (move == null ? "" : ", next=" + move.next());
    }
}

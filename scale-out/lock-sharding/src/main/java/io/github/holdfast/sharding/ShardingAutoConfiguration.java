package io.github.holdfast.sharding;

import io.github.holdfast.service.LockService;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Primary;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Configures {@link ShardedLocks} over the application's lock services, if a property {@code holdfast.sharding} is set. It runs after the
 * starter, which usually defines one of the services. Injections of {@code Locks} get the {@code ShardedLocks}, those of {@code LockService} do not.
 */
@AutoConfiguration(afterName = "io.github.holdfast.autoconfigure.LockServiceAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@Conditional(ShardingAutoConfiguration.OnSharding.class)
@EnableConfigurationProperties(ShardingProperties.class)
final class ShardingAutoConfiguration {

    private static final String PROPERTIES = "holdfast.sharding";
    private static final String BEAN = "holdfastShardedLocks";

    ShardingAutoConfiguration() {}

    @Bean(BEAN)
    @Primary
    @ConditionalOnMissingBean
    ShardedLocks holdfastShardedLocks(ShardingProperties properties, ListableBeanFactory beans) {
        Sharding sharding = sharding(PROPERTIES, properties.prefixes(), properties.others(), properties.hash());
        ShardingProperties.Next next = properties.next();
        if (next == null) {
            return ShardedLocks.of(services(beans, sharding), sharding);
        }
        Sharding afterwards = sharding(PROPERTIES + ".next", next.prefixes(), next.others(), next.hash());
        Instant tokensFrom = next.tokensFrom();
        if (tokensFrom == null) {
            throw new InvalidConfigurationPropertyValueException(
                    PROPERTIES + ".next.tokens-from", null, "A change of the rule needs this time");
        }
        return ShardedLocks.of(services(beans, sharding, afterwards), sharding).movingTo(afterwards, tokensFrom);
    }

    /**
     * Refuses a primary {@code LockService}: injections of {@code Locks} would find two primary beans. It looks before beans are created,
     * so that it is not one of those injections that fails.
     */
    @Bean
    static BeanFactoryPostProcessor holdfastShardingPrimaryCheck() {
        return beans -> {
            if (!beans.containsBeanDefinition(BEAN)) {
                return;
            }
            Arrays.stream(beans.getBeanNamesForType(LockService.class, true, false))
                    .filter(beans::containsBeanDefinition)
                    .filter(name -> beans.getMergedBeanDefinition(name).isPrimary())
                    .forEach(name -> {
                        throw new IllegalStateException(
                                "The LockService bean '" + name + "' is @Primary, and so is the"
                                        + " ShardedLocks bean of " + PROPERTIES
                                        + ": an injection of Locks would find two. Remove"
                                        + " @Primary, and define the other LockService beans with @Bean(defaultCandidate = false)");
                    });
        };
    }

    private static Sharding sharding(
            String properties,
            @Nullable Map<String, List<String>> prefixes,
            @Nullable String others,
            @Nullable List<String> hash) {
        if (hash != null && prefixes == null && others == null) {
            return checked(properties + ".hash", hash, () -> Sharding.byHash(hash));
        }
        if (hash != null || prefixes == null) {
            throw new InvalidConfigurationPropertyValueException(
                    properties, null, "Set either prefixes and perhaps others, or hash");
        }
        Map<String, String> shardOfPrefix = new HashMap<>();
        prefixes.forEach((shard, ofShard) -> {
            if (ofShard.contains("")) {
                // A comma at the end of the list would give this shard the names of all others.
                throw new InvalidConfigurationPropertyValueException(
                        properties + ".prefixes." + shard,
                        ofShard,
                        "A prefix is empty. The shard for all other names is " + properties + ".others");
            }
            ofShard.forEach(prefix -> put(properties, shardOfPrefix, prefix, shard));
        });
        if (others != null) {
            put(properties, shardOfPrefix, "", others);
        }
        return checked(properties + ".prefixes", prefixes, () -> Sharding.byPrefix(shardOfPrefix));
    }

    private static void put(String properties, Map<String, String> shardOfPrefix, String prefix, String shard) {
        String other = shardOfPrefix.put(prefix, shard);
        if (other != null) {
            throw new InvalidConfigurationPropertyValueException(
                    properties + ".prefixes", prefix, "The prefix is set for '" + other + "' and for '" + shard + "'");
        }
    }

    private static Sharding checked(String property, Object value, Supplier<Sharding> sharding) {
        try {
            return sharding.get();
        } catch (IllegalArgumentException refused) {
            throw new InvalidConfigurationPropertyValueException(property, value, refused.getMessage());
        }
    }

    private static Map<String, LockService> services(ListableBeanFactory beans, Sharding... shardings) {
        Set<String> all = new LinkedHashSet<>(List.of(beans.getBeanNamesForType(LockService.class)));
        Map<String, LockService> services = new TreeMap<>();
        Arrays.stream(shardings)
                .flatMap(sharding -> sharding.shards().stream())
                .distinct()
                .forEach(shard -> {
                    if (!all.contains(shard)) {
                        throw new InvalidConfigurationPropertyValueException(
                                PROPERTIES, shard, "There is no LockService bean of this name, only " + all);
                    }
                    services.put(shard, beans.getBean(shard, LockService.class));
                });
        return services;
    }

    /** Matches if any property of sharding is set. */
    static final class OnSharding extends SpringBootCondition {

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            boolean isSet = Binder.get(context.getEnvironment())
                    .bind(PROPERTIES, Bindable.mapOf(String.class, Object.class))
                    .isBound();
            ConditionMessage.Builder message = ConditionMessage.forCondition("Holdfast's sharding");
            return isSet
                    ? ConditionOutcome.match(message.found("property").items(PROPERTIES))
                    : ConditionOutcome.noMatch(message.didNotFind("property").items(PROPERTIES));
        }
    }
}

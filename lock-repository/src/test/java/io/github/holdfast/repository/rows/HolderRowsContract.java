package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder.State;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.rows.HolderRows.Claim;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.HolderRows.LimitChange;
import io.github.holdfast.repository.rows.HolderRows.Semaphore;
import io.github.holdfast.repository.rows.HolderRows.Usage;
import io.github.holdfast.repository.store.StoreContract;
import io.github.holdfast.repository.store.StoreUnderTest;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The permits of a semaphore: never more than its limit, each by its own grant, and free again when the holder is dead. */
abstract class HolderRowsContract extends StoreContract {

    static final Duration LEASE = Duration.ofMinutes(1);
    static final Duration AT_MOST = Duration.ofSeconds(20);
    static final String NAME = "exports";

    final <T> T call(Function<HolderRows, T> work) {
        return call(application, work);
    }

    static <T> T call(StoreUnderTest application, Function<HolderRows, T> work) {
        return application
                .store()
                .inTransaction(AT_MOST, () -> work.apply(application.store().permits()));
    }

    private boolean does(Predicate<HolderRows> write) {
        return call(write::test);
    }

    final Usage create(int limit) {
        create(NAME, limit);
        return usage();
    }

    final void create(String name, int limit) {
        Boolean unused = call(permits -> {
            permits.createIfMissing(name, limit);
            return true;
        });
    }

    final Usage usage() {
        return usage(NAME).orElseThrow();
    }

    final Optional<Usage> usage(String name) {
        return call(permits -> permits.usage(name));
    }

    final List<HolderSnapshot> holders() {
        return call(permits -> permits.holders(NAME));
    }

    final HolderSnapshot holder(String owner) {
        return call(permits -> permits.holder(NAME, owner)).orElseThrow();
    }

    static Claim claim(String owner, int permits) {
        return new Claim(NAME, owner, null, permits, LEASE, "holder of " + owner);
    }

    final Optional<HolderSnapshot> grant(String owner, int permits) {
        return grant(claim(owner, permits), usage().version());
    }

    final Optional<HolderSnapshot> grant(Claim claim, long version) {
        return call(permits -> permits.grant(claim, version)).map(granted -> {
            HolderSnapshot holder =
                    call(permits -> permits.holder(claim.name(), claim.owner())).orElseThrow();
            assertThat(holder.grant()).isEqualTo(granted);
            return holder;
        });
    }

    private static LimitChange change(int limit) {
        return new LimitChange(UUID.randomUUID().toString(), NAME, limit, "operator", "Christmas");
    }

    final boolean release(HolderSnapshot holder) {
        return does(permits -> permits.release(holder.grant()));
    }

    @Nullable
    final State state(String owner) {
        return call(permits -> permits.holder(NAME, owner))
                .map(holder -> holder.state(Duration.ZERO))
                .orElse(null);
    }

    @Test
    void permitsAreGrantedUpToTheLimitAllOrNothing() {
        create(3);
        HolderSnapshot one = grant("one", 1).orElseThrow();
        HolderSnapshot two = grant("two", 2).orElseThrow();
        assertThat(grant("three", 1)).isEmpty();
        assertThat(usage().used()).isEqualTo(3);
        assertThat(holders()).extracting(HolderSnapshot::grant).containsExactly(one.grant(), two.grant());
        assertThat(two.grant().fencingToken()).isGreaterThan(one.grant().fencingToken());
        assertThat(two.holder().permits()).isEqualTo(2);
        assertThat(two.holder().holder()).isEqualTo("holder of two");
        assertThat(Duration.between(two.holder().acquiredAt(), two.holder().expiresAt()))
                .isBetween(LEASE, LEASE.plusSeconds(5));
        release(one);
        assertThat(grant("three", 2)).as("only one is left").isEmpty();
        assertThat(usage().used()).isEqualTo(2);
        assertThat(grant("three", 1)).isPresent();
    }

    @Test
    void theFirstEndOfALeaseIsKnown() {
        create(3);
        assertThat(usage().firstLeaseEnd()).isNull();
        assertThat(usage().timeUntilLeaseEnds(Duration.ZERO)).isNull();
        assertThat(grant("one", 1)).isPresent();
        assertThat(grant("other", 1)).isPresent();
        assertThat(usage().firstLeaseEnd()).isEqualTo(holder("one").holder().expiresAt());
        assertThat(usage().timeUntilLeaseEnds(Duration.ZERO)).isBetween(LEASE.dividedBy(2), LEASE);
    }

    @Test
    void aSemaphoreIsCreatedOnceAndNoLockBecomesOne() {
        Usage created = create(2);
        assertThat(created.limit()).isEqualTo(2);
        assertThat(create(5)).usingRecursiveComparison().ignoringFields("dbNow").isEqualTo(created);
        application.create("lock");
        create("lock", 2);
        assertThat(usage("lock")).isEmpty();
        assertThat(grant(
                        new Claim("lock", "one", null, 1, LEASE, null),
                        application.read("lock").row().version()))
                .isEmpty();
        assertThat(usage("unknown")).isEmpty();
        assertThat(application.read(NAME).row().permits()).isEqualTo(2);
    }

    @Test
    void onlyTheGrantItselfIsReleasedAndOnlyOnce() {
        create(3);
        HolderSnapshot one = grant("one", 1).orElseThrow();
        HolderSnapshot other = grant("other", 1).orElseThrow();
        long token = one.grant().fencingToken();
        assertThat(does(permits -> permits.release(new Grant(Grant.Kind.SHARE, NAME, "other", token))))
                .isFalse();
        assertThat(does(permits -> permits.release(new Grant(Grant.Kind.SHARE, NAME, "one", token + 1))))
                .isFalse();
        assertThat(usage().used()).isEqualTo(2);
        assertThat(release(one)).isTrue();
        assertThat(release(one)).isFalse();
        assertThat(state("one")).isNull();
        assertThat(state("other")).isEqualTo(State.ALIVE);
        assertThat(release(other)).isTrue();
    }

    @Test
    void aHolderIsDeadWhenItsLeaseIsOverAndARenewalComesTooLateThen() {
        create(1);
        HolderSnapshot holder = grant("one", 1).orElseThrow();
        assertThat(does(permits -> permits.extend(holder.grant(), LEASE.multipliedBy(2))))
                .isTrue();
        assertThat(does(permits -> permits.extend(holder.grant(), Duration.ofSeconds(1))))
                .isTrue();
        assertThat(does(permits -> permits.touch(holder.grant()))).isTrue();
        HolderSnapshot renewed = holder("one");
        assertThat(Duration.between(renewed.dbNow(), renewed.holder().expiresAt()))
                .as("never shorter")
                .isGreaterThan(LEASE);
        assertThat(does(permits -> permits.removeDead(renewed.holder(), Duration.ZERO)))
                .isFalse();
        expire();
        assertThat(state("one")).isEqualTo(State.DEAD);
        HolderSnapshot dead = holder("one");
        assertThat(dead.state(Duration.ofDays(1))).as("within the tolerance").isEqualTo(State.ALIVE);
        assertThat(grant("two", 1))
                .as("its permits count until its row is deleted")
                .isEmpty();
        assertThat(does(permits -> permits.extend(holder.grant(), LEASE))).isFalse();
        assertThat(does(permits -> permits.removeDead(dead.holder(), Duration.ofDays(1))))
                .isFalse();
        assertThat(does(permits -> permits.removeDead(dead.holder(), Duration.ZERO)))
                .isTrue();
        assertThat(does(permits -> permits.removeDead(dead.holder(), Duration.ZERO)))
                .isFalse();
        assertThat(grant("two", 1)).isPresent();
    }

    private void expire() {
        application
                .tables()
                .update(
                        "HoldfastHolder",
                        Map.of("expiresAt", application.clock().minusSeconds(1)));
    }

    /** The row that was read is that of a dead holder, but the holder has renewed its lease since. */
    @Test
    void aHolderThatRenewedBeforeItsRowWasDeletedKeepsIt() {
        create(1);
        HolderSnapshot holder = grant("one", 1).orElseThrow();
        expire();
        HolderSnapshot dead = holder("one");
        assertThat(dead.state(Duration.ZERO)).isEqualTo(State.DEAD);
        application
                .tables()
                .update(
                        "HoldfastHolder",
                        Map.of("expiresAt", application.clock().plusSeconds(60)));
        assertThat(does(permits -> permits.removeDead(dead.holder(), Duration.ZERO)))
                .isFalse();
        assertThat(release(holder)).isTrue();
    }

    @Test
    void aHolderLivesAsLongAsItsNode() {
        create(2);
        assertThat(throughNode("absent")).isEmpty();
        application.register("node");
        HolderSnapshot holder = throughNode("node").orElseThrow();
        assertThat(holder.holder().expiresAt()).isNull();
        assertThat(holder.state(Duration.ZERO)).isEqualTo(State.ALIVE);
        application
                .tables()
                .update("HoldfastNode", Map.of("expiresAt", application.clock().minusSeconds(1)));
        assertThat(state("through node")).isEqualTo(State.NODE_EXPIRED);
        application.tables().update("HoldfastNode", Map.of("ended", true));
        assertThat(state("through node")).isEqualTo(State.DEAD);
        assertThat(throughNode("node")).as("a node that was ended").isEmpty();
        application.tables().delete("HoldfastNode");
        assertThat(state("through node")).isEqualTo(State.DEAD);
        assertThat(does(permits -> permits.removeDead(holder.holder(), Duration.ofDays(1))))
                .isTrue();
        assertThat(usage().used()).isZero();
    }

    private Optional<HolderSnapshot> throughNode(String node) {
        return grant(new Claim(NAME, "through " + node, node, 1, null, null), usage().version());
    }

    @Test
    void aGrantMatchesSomeVersionsUntilItIsSuperseded() {
        long seen = create(2).version();
        HolderSnapshot first = grant("first", 1).orElseThrow();
        assertThat(grant(claim("late", 1), seen)).isPresent();
        assertThat(release(first)).isTrue();
        assertThat(does(permits -> permits.supersede(NAME, seen))).isTrue();
        assertThat(does(permits -> permits.supersede(NAME, seen))).isFalse();
        assertThat(grant(claim("too late", 1), seen)).isEmpty();
        assertThat(state("too late")).isNull();
        assertThat(grant("next", 1)).isPresent();
    }

    @Test
    void aSmallerLimitTakesNothingAwayAndGrantsNothingUntilEnoughIsBack() {
        create(3);
        HolderSnapshot one = grant("one", 2).orElseThrow();
        long version = usage().version();
        assertThat(does(permits -> permits.setLimit(change(1), version))).isTrue();
        assertThat(does(permits -> permits.setLimit(change(4), version)))
                .as("has changed since")
                .isFalse();
        assertThat(usage().limit()).isEqualTo(1);
        assertThat(usage().used()).isEqualTo(2);
        assertThat(grant("two", 1)).isEmpty();
        assertThat(release(one)).isTrue();
        assertThat(grant("two", 1)).isPresent();
        assertThat(grant("three", 1)).isEmpty();
        long later = usage().version();
        assertThat(does(permits -> permits.setLimit(change(2), later))).isTrue();
        assertThat(grant("three", 1)).isPresent();
    }

    @Test
    void nobodyAcquiresASemaphoreAsALock() {
        create(1);
        var seen = application.read(NAME);
        assertThat(seen.row().owner()).isNotNull();
        assertThat(seen.availability("somebody", null, Duration.ZERO)).isEqualTo(LockAvailability.HELD_BY_OTHER);
    }

    @Test
    void permitsThatAreTakenByForceCountUntilTheirHolderMustHaveNoticed() {
        create(2);
        application.register("node");
        HolderSnapshot lease = grant("one", 1).orElseThrow();
        HolderSnapshot living = throughNode("node").orElseThrow();
        for (HolderSnapshot holder : List.of(lease, living)) {
            assertThat(does(permits -> permits.wasForced(holder.grant()))).isFalse();
            assertThat(does(permits -> permits.takeFromHolder(holder.holder(), LEASE, "operator", "stuck")))
                    .isTrue();
            assertThat(does(permits -> permits.wasForced(holder.grant()))).isTrue();
            assertThat(does(permits -> permits.takeFromHolder(holder.holder(), LEASE, "operator", "again")))
                    .isFalse();
            assertThat(does(permits -> permits.extend(holder.grant(), LEASE))).isFalse();
            assertThat(does(permits -> permits.touch(holder.grant()))).isFalse();
            assertThat(release(holder)).isFalse();
        }
        assertThat(usage().used()).isEqualTo(2);
        assertThat(holders()).allSatisfy(taken -> {
            assertThat(taken.holder().isForced()).isTrue();
            assertThat(taken.state(Duration.ZERO)).isEqualTo(State.ALIVE);
            assertThat(taken.timeUntilOver()).isBetween(LEASE.dividedBy(2), LEASE);
            assertThat(does(permits -> permits.removeDead(taken.holder(), Duration.ZERO)))
                    .isFalse();
        });
        assertThat(holders().get(0).holder().expiresAt())
                .isEqualTo(lease.holder().expiresAt());
        application
                .tables()
                .update(
                        "HoldfastHolder",
                        Map.of("expiresAt", application.clock().minusSeconds(1)));
        assertThat(holders())
                .allSatisfy(taken -> assertThat(does(permits -> permits.removeDead(taken.holder(), Duration.ZERO)))
                        .isTrue());
        assertThat(acts()).hasSize(2).allSatisfy(act -> {
            assertThat(act.action()).isEqualTo(LockAudit.FORCED_RELEASE);
            assertThat(act.permits()).isEqualTo(1);
            assertThat(act.owner()).isIn("one", "through node");
            assertThat(act.doneBy()).isEqualTo("operator");
            assertThat(act.reason()).isEqualTo("stuck");
        });
    }

    @Test
    void eachChangeOfALimitIsRecorded() {
        long version = create(2).version();
        LimitChange change = change(7);
        assertThat(does(permits -> permits.isRecorded(change))).isFalse();
        assertThat(does(permits -> permits.setLimit(change, version - 1))).isFalse();
        assertThat(does(permits -> permits.isRecorded(change))).isFalse();
        assertThat(does(permits -> permits.setLimit(change, version))).isTrue();
        assertThat(does(permits -> permits.isRecorded(change))).isTrue();
        assertThat(acts()).singleElement().satisfies(act -> {
            assertThat(act.action()).isEqualTo(LockAudit.LIMIT_CHANGE);
            assertThat(act.permits()).isEqualTo(7);
            assertThat(act.owner()).isNull();
            assertThat(act.nodeId()).isNull();
            assertThat(act.doneBy()).isEqualTo("operator");
            assertThat(act.reason()).isEqualTo("Christmas");
        });
    }

    private List<LockAudit> acts() {
        return application.call(locks -> application.store().pages().acts(NAME, 10));
    }

    @Test
    void semaphoresAreReadInPages() {
        List.of("c", "a", "b").forEach(name -> create(name, 2));
        application.create("lock");
        assertThat(grant(
                        new Claim("b", "one", null, 2, LEASE, null),
                        usage("b").orElseThrow().version()))
                .isPresent();
        assertThat(page("")).containsExactly(new Semaphore("a", 2, 0), new Semaphore("b", 2, 2));
        assertThat(page("b")).containsExactly(new Semaphore("c", 2, 0));
        assertThat(page("c")).isEmpty();
    }

    @Test
    void holdersOfSeveralSemaphoresAreReadTogether() {
        List.of("c", "a", "b").forEach(name -> create(name, 3));
        for (String name : List.of("c", "b", "a", "c")) {
            Claim claim = new Claim(name, "of " + name, null, 1, LEASE, null);
            assertThat(does(permits -> permits.grant(claim, version(name)).isPresent()))
                    .isTrue();
        }
        application.register("node");
        assertThat(grant(new Claim("c", "through node", "node", 1, null, null), version("c")))
                .isPresent();
        assertThat(holders(List.of("c", "a", "none"), 10))
                .extracting(seen -> seen.holder().owner())
                .containsExactly("of a", "of c", "of c", "through node");
        assertThat(holders(List.of("c", "a"), 2))
                .extracting(seen -> seen.holder().owner())
                .containsExactly("of a", "of c");
        assertThat(holders(List.of("c"), 10))
                .isSortedAccordingTo(Comparator.comparing(seen -> seen.holder().fencingToken()))
                .extracting(HolderSnapshot::grant)
                .isEqualTo(call(permits -> permits.holders("c")).stream()
                        .map(HolderSnapshot::grant)
                        .toList());
        assertThat(holders(List.of("none"), 10)).isEmpty();
    }

    final long version(String name) {
        return usage(name).orElseThrow().version();
    }

    final List<HolderSnapshot> holders(List<String> names, int limit) {
        return call(permits -> permits.holders(names, limit));
    }

    private Optional<Grant> share(String owner) {
        return share(claim(owner, 1), application.read(NAME).row().version());
    }

    private Optional<Grant> share(Claim claim, long version) {
        return call(permits -> permits.share(claim, version));
    }

    private void write(Consumer<HolderRows> work) {
        Boolean unused = call(permits -> {
            work.accept(permits);
            return true;
        });
    }

    @Test
    void aLockIsSharedOnlyWhileNobodyHasItAlone() {
        application.create(NAME);
        long first = application.read(NAME).row().version();
        Grant one = share("one").orElseThrow();
        Grant other = share("other").orElseThrow();
        assertThat(other.fencingToken()).isGreaterThan(one.fencingToken());
        assertThat(holders()).extracting(HolderSnapshot::grant).containsExactly(one, other);
        LockEntity shared = application.read(NAME).row();
        assertThat(shared.isShared()).isTrue();
        assertThat(share(claim("late", 1), first)).as("a late grant").isPresent();
        write(permits -> permits.supersede(NAME, first));
        assertThat(share(claim("too late", 1), first)).isEmpty();
        application.tables().delete("HoldfastHolder");
        LockEntity row = application.read(NAME).row();
        LockEntity alone = row.granted("writer", null, null);
        boolean isGranted = application.store().inTransaction(AT_MOST, locks -> locks.grant(row, alone, LEASE, null));
        assertThat(isGranted).isTrue();
        assertThat(share("three")).as("while somebody has it alone").isEmpty();
        assertThat(usage(NAME)).isEmpty();
    }

    @Test
    void nobodySharesALockThatIsWanted() {
        application.create(NAME);
        write(permits -> permits.reserve(NAME, LEASE));
        assertThat(application.read(NAME).row().isReserved(Instant.EPOCH))
                .as("a free lock")
                .isFalse();
        assertThat(share("one")).isPresent();
        write(permits -> permits.reserve(NAME, LEASE));
        assertThat(application
                        .read(NAME)
                        .row()
                        .isReserved(application.read(NAME).dbNow()))
                .isTrue();
        assertThat(share("two")).isEmpty();
        write(permits -> permits.cancelReservation(NAME));
        assertThat(share("three")).isPresent();
    }

    @Test
    void thoseWhoShareALockAreReadWithTheVersionOfItsRow() {
        application.create(NAME);
        assertThat(share("one")).isPresent();
        long first = application.read(NAME).row().version();
        assertThat(sharing(first))
                .hasValueSatisfying(holders -> assertThat(holders).hasSize(1));
        Grant two = share("two").orElseThrow();
        assertThat(sharing(first)).as("another share has come").isEmpty();
        long last = application.read(NAME).row().version();
        assertThat(sharing(last))
                .hasValueSatisfying(holders -> assertThat(holders).hasSize(2));
        application.tables().delete("HoldfastHolder", Map.of("owner", "one"));
        assertThat(sharing(last))
                .hasValueSatisfying(holders ->
                        assertThat(holders).extracting(HolderSnapshot::grant).containsExactly(two));
        application.tables().delete("HoldfastHolder");
        assertThat(sharing(last))
                .hasValueSatisfying(holders -> assertThat(holders).isEmpty());
    }

    private Optional<List<HolderSnapshot>> sharing(long version) {
        return call(permits -> permits.sharing(NAME, version));
    }

    /** After a failover, the version and the token may come back. */
    @Test
    void noTwoSharesLeaveTheSameRow() {
        application.create(NAME);
        assertThat(share("one")).isPresent();
        String owner = application.read(NAME).row().owner();
        assertThat(share("two")).isPresent();
        assertThat(application.read(NAME).row().owner()).isNotEqualTo(owner).isNotNull();
        create("semaphore", 2);
        long version = application.read("semaphore").row().version();
        assertThat(share(new Claim("semaphore", "one", null, 1, LEASE, null), version))
                .isEmpty();
    }

    private List<Semaphore> page(String after) {
        return call(permits -> permits.page(after, 2));
    }

    @Test
    void aClaimIsForAtLeastOnePermitThroughANodeOrALease() {
        assertThat(List.<Runnable>of(
                        () -> new Claim(NAME, "one", null, 0, LEASE, null),
                        () -> new Claim(NAME, "one", null, 1, null, null),
                        () -> new Claim(NAME, "one", "node", 1, LEASE, null)))
                .allSatisfy(claim -> assertThatIllegalArgumentException().isThrownBy(claim::run));
    }
}

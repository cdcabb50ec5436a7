package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.Grant.Kind;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** The rows of semaphores in the current transaction, by the queries of {@link PermitRepository}. Thread-safe. */
public final class JpaHolderRows implements HolderRows {

    private final PermitRepository queries;
    private final LockAuditRepository audits;

    public JpaHolderRows(PermitRepository queries, LockAuditRepository audits) {
        this.queries = queries;
        this.audits = audits;
    }

    @Override
    public void createIfMissing(String name, int limit) {
        queries.createIfMissing(name, limit);
    }

    @Override
    public Optional<Usage> usage(String name) {
        return queries.usage(name);
    }

    @Override
    public List<HolderSnapshot> holders(String name) {
        return queries.holders(name);
    }

    @Override
    @SuppressWarnings("NullAway") // The outer join gives a snapshot without a holder if there is none.
    public Optional<List<HolderSnapshot>> sharing(String name, long version) {
        List<HolderSnapshot> found = queries.sharing(name, version);
        return found.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        found.stream().filter(seen -> seen.holder() != null).toList());
    }

    @Override
    public Optional<HolderSnapshot> holder(String name, String owner) {
        return queries.holder(name, owner);
    }

    @Override
    public Optional<HolderSnapshot> holder(String name, long fencingToken) {
        return queries.holder(name, fencingToken);
    }

    @Override
    public List<HolderSnapshot> living(Collection<String> names, int limit) {
        return queries.living(names, limit);
    }

    @Override
    public List<LockHolder> heldThrough(String nodeId, String after, long afterToken, int limit) {
        return queries.heldThrough(nodeId, after, afterToken, limit);
    }

    @Override
    public List<LockHolder> dead(Duration tolerance, String after, long afterToken, int limit) {
        return queries.dead(-Micros.of(tolerance), after, afterToken, limit);
    }

    @Override
    public Optional<Grant> grant(Claim claim, long version) {
        if (queries.takeToken(claim.name(), version, version + WINDOW) == 0) {
            return Optional.empty();
        }
        return queries.tokenIfLeft(claim.name(), claim.permits(), claim.nodeId())
                .map(token -> add(claim, token));
    }

    private Grant add(Claim claim, long token) {
        int unused = queries.addHolder(
                claim.name(),
                token,
                claim.owner(),
                claim.nodeId(),
                claim.permits(),
                Micros.orNull(claim.lease()),
                claim.holder());
        return new Grant(Kind.SHARE, claim.name(), claim.owner(), token);
    }

    @Override
    public Optional<Grant> share(Claim claim, long version) {
        if (queries.share(claim.name(), claim.owner(), version, version + WINDOW) == 0) {
            return Optional.empty();
        }
        return queries.tokenIfAlive(claim.name(), claim.nodeId()).map(token -> add(claim, token));
    }

    @Override
    @SuppressWarnings("NullAway") // A held row has an owner.
    public Optional<Grant> downgrade(LockEntity held, Claim claim) {
        long token = held.fencingToken() + 1;
        int changed = queries.downgrade(
                held.name(), held.version(), held.fencingToken(), held.owner(), claim.owner(), token, claim.nodeId());
        return changed == 0 ? Optional.empty() : Optional.of(add(claim, token));
    }

    @Override
    public void reserve(String name, Duration time) {
        queries.reserve(name, Micros.of(time));
    }

    @Override
    public void cancelReservation(String name) {
        queries.reserve(name, null);
    }

    @Override
    public boolean supersede(String name, long version) {
        return queries.supersede(name, version + WINDOW) == 1;
    }

    @Override
    public boolean release(Grant grant) {
        return queries.release(grant.name(), grant.fencingToken(), grant.owner()) == 1;
    }

    @Override
    public boolean extend(Grant grant, Duration lease) {
        return queries.extend(grant.name(), grant.fencingToken(), grant.owner(), Micros.of(lease)) == 1;
    }

    @Override
    public boolean touch(Grant grant) {
        return queries.touch(grant.name(), grant.fencingToken(), grant.owner()) == 1;
    }

    @Override
    public boolean removeDead(LockHolder dead, Duration tolerance) {
        return queries.removeDead(dead.name(), dead.fencingToken(), dead.owner(), -Micros.of(tolerance)) == 1;
    }

    @Override
    public List<Semaphore> page(String after, int limit) {
        return queries.page(after, limit);
    }

    @Override
    public List<HolderSnapshot> holders(Collection<String> names, int limit) {
        return queries.holdersOfEach(names, limit);
    }

    @Override
    public boolean setLimit(LimitChange change, long version) {
        if (queries.setLimit(change.name(), change.limit(), version) == 0) {
            return false;
        }
        audits.insert(
                change.id(),
                LockAudit.LIMIT_CHANGE,
                change.name(),
                null,
                null,
                null,
                queries.lastToken(change.name()),
                change.limit(),
                change.doneBy(),
                change.reason());
        return true;
    }

    @Override
    public boolean isRecorded(LimitChange change) {
        return audits.existsById(change.id());
    }

    @Override
    public boolean takeFromHolder(LockHolder holder, Duration notices, String doneBy, String reason) {
        if (queries.takeFromHolder(holder.name(), holder.fencingToken(), holder.owner(), Micros.of(notices)) == 0) {
            return false;
        }
        audits.insert(
                UUID.randomUUID().toString(),
                LockAudit.FORCED_RELEASE,
                holder.name(),
                holder.owner(),
                holder.nodeId(),
                holder.holder(),
                holder.fencingToken(),
                holder.permits(),
                doneBy,
                reason);
        return true;
    }

    @Override
    public boolean wasForced(Grant grant) {
        return audits.wasForced(grant.name(), grant.fencingToken());
    }
}

package io.github.holdfast.faults.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is committed on the primary, and beats that are executed there.
 *
 * @param row the lock's row; null if it has none
 * @param nodes those that have not left their locks
 * @param epoch above all tokens and versions of rows that were purged
 * @param standby what the synchronous standby has while it is cut off; null if it has everything
 */
record Database(
        @Nullable LockRow row,
        List<NodeRow> nodes,
        int epoch,
        @Nullable Database standby) {

    Optional<NodeRow> node(int id) {
        return nodes.stream()
                .filter(node -> node.id() == id && !node.isDeleted())
                .findFirst();
    }

    /** The row of a node as a statement on the lock's row finds it. */
    Optional<NodeRow> nodeBesideTheLock(int id) {
        return node(id).filter(node -> !node.isElsewhere());
    }

    /** Whether the row of this node was deleted by hand. */
    boolean isDeleted(int id) {
        return nodes.stream().anyMatch(node -> node.id() == id && node.isDeleted());
    }

    /** This, and what the standby has. */
    Stream<Database> copies() {
        return standby == null ? Stream.of(this) : Stream.of(this, standby);
    }

    /** Whether a commit waits for the standby: until that is back, or the wait is cancelled. */
    boolean isStandbyAway() {
        return standby != null;
    }

    Database with(@Nullable LockRow other) {
        return new Database(other, nodes, epoch, standby);
    }

    private Database with(List<NodeRow> others) {
        return new Database(row, others, epoch, standby);
    }

    Database withCreated(Set<Rule> rules) {
        return with(LockRow.created(
                rules.contains(Rule.TOKEN_NEVER_RESTARTS) ? epoch : 0,
                rules.contains(Rule.VERSION_NEVER_RESTARTS) ? epoch : 0));
    }

    Database withoutRow(LockRow purged) {
        return new Database(null, nodes, Math.max(epoch, Math.max(purged.token(), purged.version()) + 1), standby);
    }

    Database withNode(NodeRow registered) {
        List<NodeRow> more = new ArrayList<>(nodes);
        more.add(registered);
        return with(List.copyOf(more));
    }

    Database withNode(int id, UnaryOperator<NodeRow> change) {
        return with(nodes.stream()
                .map(node -> node.id() == id ? change.apply(node) : node)
                .toList());
    }

    Database withoutNode(int id) {
        return with(nodes.stream()
                .filter(node -> node.id() != id || node.isDeleted())
                .toList());
    }

    /** Another way to count the versions of a node. */
    Database withVersionsLessBy(int less, int id) {
        Database shifted = withNode(id, node -> node.withVersion(node.version() - less));
        return standby == null ? shifted : shifted.with(standby.withVersionsLessBy(less, id));
    }

    /** Whether a write of this node's row has to wait. */
    boolean isPending(int id) {
        return node(id).filter(NodeRow::isPending).isPresent();
    }

    /** The condition of the write that ends a node. */
    boolean isOverdue(int id) {
        return nodeBesideTheLock(id)
                .filter(node -> !node.isEnded() && node.left() == 0)
                .isPresent();
    }

    /** The standby is cut off: it has what is committed, and gets no more. */
    Database withoutStandby() {
        return with(committed());
    }

    /** The standby has got everything. */
    Database withStandby() {
        return new Database(row, nodes, epoch, null);
    }

    private Database with(Database behind) {
        return new Database(row, nodes, epoch, behind);
    }

    /** What is committed: what is only executed is rolled back. */
    private Database committed() {
        return withStandby().with(nodes.stream().map(NodeRow::rolledBack).toList());
    }

    /** The standby is the primary now, by its own clock. */
    Database failedOver(int clockStep) {
        Database primary = standby == null ? committed() : standby;
        for (int i = 0; i < clockStep; i++) {
            primary = primary.later();
        }
        return primary;
    }

    Database later() {
        return new Database(
                row == null ? null : row.later(),
                nodes.stream().map(NodeRow::later).toList(),
                epoch,
                standby == null ? null : standby.later());
    }
}

package io.github.holdfast.faults.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What is committed, and beats that are executed.
 *
 * @param row the lock's row; null if it has none
 * @param nodes those that were not ended
 * @param epoch above all tokens and versions of rows that were purged
 */
record Database(@Nullable LockRow row, List<NodeRow> nodes, int epoch) {

    Optional<NodeRow> node(int id) {
        return nodes.stream().filter(node -> node.id() == id).findFirst();
    }

    Database with(@Nullable LockRow other) {
        return new Database(other, nodes, epoch);
    }

    Database withCreated(Set<Rule> rules) {
        return with(LockRow.created(
                rules.contains(Rule.TOKEN_NEVER_RESTARTS) ? epoch : 0,
                rules.contains(Rule.VERSION_NEVER_RESTARTS) ? epoch : 0));
    }

    Database withoutRow(LockRow purged) {
        return new Database(null, nodes, Math.max(epoch, Math.max(purged.token(), purged.version()) + 1));
    }

    Database withNode(NodeRow registered) {
        List<NodeRow> more = new ArrayList<>(nodes);
        more.add(registered);
        return new Database(row, List.copyOf(more), epoch);
    }

    Database withNode(int id, UnaryOperator<NodeRow> change) {
        return new Database(
                row,
                nodes.stream()
                        .map(node -> node.id() == id ? change.apply(node) : node)
                        .toList(),
                epoch);
    }

    Database withoutNode(int id) {
        return new Database(row, nodes.stream().filter(node -> node.id() != id).toList(), epoch);
    }

    /** Whether a write of this node's row has to wait. */
    boolean isPending(int id) {
        return node(id).filter(NodeRow::isPending).isPresent();
    }

    /** The condition of the write that ends a node. */
    boolean isOverdue(int id) {
        return node(id).filter(node -> node.left() == 0).isPresent();
    }

    Database later() {
        return new Database(
                row == null ? null : row.later(),
                nodes.stream().map(NodeRow::later).toList(),
                epoch);
    }
}

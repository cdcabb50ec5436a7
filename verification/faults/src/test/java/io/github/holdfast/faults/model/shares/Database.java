package io.github.holdfast.faults.model.shares;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is committed, and what is executed and not committed.
 *
 * @param holders in the order of their grants
 * @param nodes those that were not ended
 * @param pending a grant that has the lock's row locked; null if there is none
 * @param copy what another server has, while it is behind; null if it has everything
 */
record Database(
        LockRow row,
        List<HolderRow> holders,
        List<NodeRow> nodes,
        @Nullable Pending pending,
        @Nullable Database copy) {

    /**
     * A grant to a shared holder that is executed and not committed.
     *
     * @param service who waits for the commit; {@link #NOBODY} if nobody does
     */
    record Pending(int service, LockRow row, HolderRow holder) {

        static final int NOBODY = -1;

        Pending abandoned() {
            return new Pending(NOBODY, row, holder);
        }
    }

    enum Standing {
        ALIVE,
        /** Its node is to be ended before anybody takes its place. */
        NODE_OVERDUE,
        DEAD
    }

    static Database created(Scenario scenario) {
        return new Database(LockRow.created(scenario), List.of(), List.of(), null, null);
    }

    Optional<NodeRow> node(int id) {
        return nodes.stream().filter(node -> node.id() == id).findFirst();
    }

    Optional<HolderRow> holder(int token) {
        return holders.stream().filter(holder -> holder.token() == token).findFirst();
    }

    Optional<HolderRow> holderOf(int owner) {
        return holders.stream().filter(holder -> holder.owner() == owner).findFirst();
    }

    Standing standing(HolderRow holder) {
        if (!holder.isThroughNode()) {
            return holder.left() == 0 ? Standing.DEAD : Standing.ALIVE;
        }
        return node(holder.node())
                .map(node -> node.isOverdue() ? Standing.NODE_OVERDUE : Standing.ALIVE)
                .orElse(Standing.DEAD);
    }

    /** How long the holder's right lasts, unless it is renewed. */
    int timeUntilOver(HolderRow holder) {
        return holder.isThroughNode() ? node(holder.node()).map(NodeRow::left).orElse(0) : holder.left();
    }

    /** How many permits count as used. */
    int used(Scenario scenario) {
        return holders.stream()
                .filter(holder -> scenario.keeps(Rule.ALL_ROWS_COUNT) || standing(holder) == Standing.ALIVE)
                .mapToInt(HolderRow::permits)
                .sum();
    }

    /** This, and what the other server has. */
    Stream<Database> copies() {
        return copy == null ? Stream.of(this) : Stream.of(this, copy);
    }

    Database with(LockRow other) {
        return new Database(other, holders, nodes, pending, copy);
    }

    Database with(@Nullable Pending other) {
        return new Database(row, holders, nodes, other, copy);
    }

    private Database withHolders(List<HolderRow> others) {
        return new Database(row, others, nodes, pending, copy);
    }

    private Database withNodes(List<NodeRow> others) {
        return new Database(row, holders, others, pending, copy);
    }

    Database withHolder(HolderRow added) {
        List<HolderRow> more = new ArrayList<>(holders);
        more.add(added);
        return withHolders(List.copyOf(more));
    }

    Database withHolder(int token, UnaryOperator<HolderRow> change) {
        return withHolders(holders.stream()
                .map(holder -> holder.token() == token ? change.apply(holder) : holder)
                .toList());
    }

    Database withoutHolder(int token) {
        return withHolders(
                holders.stream().filter(holder -> holder.token() != token).toList());
    }

    Database withoutHolders() {
        return withHolders(List.of());
    }

    Database withNode(NodeRow added) {
        List<NodeRow> more = new ArrayList<>(nodes);
        more.add(added);
        return withNodes(List.copyOf(more));
    }

    Database withNode(int id, UnaryOperator<NodeRow> change) {
        return withNodes(nodes.stream()
                .map(node -> node.id() == id ? change.apply(node) : node)
                .toList());
    }

    Database withoutNode(int id) {
        return withNodes(nodes.stream().filter(node -> node.id() != id).toList());
    }

    /** The other server is cut off: it has what is committed, and gets no more. */
    Database withCopy() {
        return new Database(row, holders, nodes, pending, committed());
    }

    /** The other server has got everything. */
    Database withoutCopy() {
        return new Database(row, holders, nodes, pending, null);
    }

    /** The other server is the database now. */
    Database failedOver() {
        return copy == null ? committed() : copy;
    }

    /** What is only executed is rolled back. */
    private Database committed() {
        return new Database(
                row,
                holders.stream().map(HolderRow::rolledBack).toList(),
                nodes.stream().map(NodeRow::rolledBack).toList(),
                null,
                null);
    }

    Database later() {
        return new Database(
                row.later(),
                holders.stream().map(HolderRow::later).toList(),
                nodes.stream().map(NodeRow::later).toList(),
                pending == null
                        ? null
                        : new Pending(
                                pending.service(),
                                pending.row(),
                                pending.holder().later()),
                copy == null ? null : copy.later());
    }
}

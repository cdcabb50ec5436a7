package io.github.holdfast.repository;

import java.util.List;

/** Reads the held locks in pages, for operators. Every method is one statement. Call it as those of {@link LockPages}. */
public interface LockSearch {

    /**
     * Reads the locks that are held by a running lease, or through a node that has not been ended. Also those that are shared,
     * if a holder has such a lease or node.
     */
    List<LockSnapshot> held(String after, int limit);

    /**
     * Reads those of the {@link #held} locks that match all conditions. The names limit the part of the table that is read. The
     * other conditions have no index: the statement ends when it has found enough.
     *
     * @param first how the names begin
     * @param before greater than all names that begin so, if it is not empty
     * @param holder a pattern of SQL with the escape character {@code !}, in lower case, for the description, the owner or the node of a holder; {@code %} for all
     * @param state ANY, ALONE, SHARED, OVERDUE or WAITED_FOR
     */
    List<LockSnapshot> search(String first, String after, String before, String holder, String state, int limit);
}

package io.github.holdfast.service.fence;

/** What the history of a cell shows. */
enum Verdict {
    /** Nothing was committed after another holder was granted the lock, or at all. */
    REFUSED,

    /** Nobody else was granted the lock, so the commit was right. */
    STILL_HELD,

    /** It was committed beside another holder, as a page says. */
    UNCHECKABLE,

    /** It was committed beside another holder. */
    BUG,

    /** The commit returned, but what was written is not there. */
    VANISHED,

    /** It failed before its loss, or the loss failed. */
    NOT_REACHED
}

package io.github.holdfast.service;

/** How many handles of a hold are open. Changed by whoever may write the hold's row; any thread may look. */
final class OpenHandles {

    /** The row's count may be others' too, or wait for the next write to be corrected. */
    private volatile int counted = 1;

    /** Those that are counted here only, inside a transaction whose guard a write would doom. */
    private volatile int inMemory;

    int counted() {
        return counted;
    }

    void count(int open) {
        counted = open;
    }

    int inMemory() {
        return inMemory;
    }

    void countInMemory(int open) {
        inMemory = open;
    }
}

package io.github.holdfast.repository.store;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** What the contracts of the ports share: one store for all tests of a class, with empty tables before each. */
@TestInstance(Lifecycle.PER_CLASS)
public abstract class StoreContract {

    /** Set by the constructor of the leaf. */
    @SuppressWarnings("NullAway.Init")
    public StoreUnderTest application;

    @AfterAll
    void close() {
        application.close();
    }

    @BeforeEach
    void deleteRows() {
        application.tables().clear();
    }
}

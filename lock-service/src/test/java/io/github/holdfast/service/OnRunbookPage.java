package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Empty tables, services on them, and the page of runbooks. */
abstract class OnRunbookPage {

    static final Duration SOON = ofSeconds(60);
    static final LockRequest REQUEST = LockRequest.of(Runbook.LOCK).waitAtMost(SOON);

    Database database;
    Services services;
    TestRows rows;
    Runbook runbook;

    @BeforeEach
    void open(Database database) throws Exception {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        database.execute("delete from lock_audit", "delete from lock_run");
        rows = TestRows.of(database);
        runbook = Runbook.on(database);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
        runbook.close();
    }

    LockService service() {
        return services.build(LockServiceBuilder::withoutHousekeeping);
    }
}

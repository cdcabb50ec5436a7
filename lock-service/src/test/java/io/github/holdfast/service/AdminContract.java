package io.github.holdfast.service;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** What is common to the tests of what operators see and change: one service holds, and the other one's operator acts. */
abstract class AdminContract extends TwoServicesContract {

    private final String audited;

    LockAdmin admin;

    /** @param audited the name whose audit records {@link #records} counts */
    AdminContract(String audited) {
        this.audited = audited;
    }

    @BeforeAll
    void openAdmin() {
        admin = theirs.admin();
    }

    @AfterEach
    void empty() {
        database.execute("delete from lock_holder", "delete from distributed_lock", "delete from lock_audit");
    }

    /** How many audit records of the name meet the condition. */
    long records(String condition) {
        return database.queryForLong(
                "select count(*) from lock_audit where lock_name = '" + audited + "' and " + condition);
    }
}

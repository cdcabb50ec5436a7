package io.github.holdfast.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.contract.BrokenDataSource.Defect;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The contract fails, and says why, on a database that does not keep to it. */
@Tag("outage")
@OnDatabase(TestDatabase.H2_MEMORY)
class BrokenDatabaseTest {

    private static @Nullable DataSource broken;

    private final Database database;

    BrokenDatabaseTest(Database database) {
        this.database = database;
    }

    static class OnBroken extends LockContract {
        @Override
        protected DataSource dataSource() {
            return Objects.requireNonNull(broken, "broken");
        }
    }

    private void breaks(Defect defect) {
        broken = new BrokenDataSource(database.dataSource(), defect);
    }

    @ParameterizedTest
    @CsvSource({
        "UPDATES_COMPARE_THE_NAME_ONLY, whoWasOvertakenIsNotGrantedTheLock, how many rows an update has changed",
        "UPDATES_ALWAYS_ANSWER_ONE, whoWasOvertakenIsNotGrantedTheLock, how many rows an update has changed",
        "AUTO_COMMIT_IS_SAID_TO_BE_ON, nestedAcquisitionsAreCounted, The lock's row was created, but cannot be read afterwards",
        "ROWS_ARE_NOT_LOCKED, nobodyTakesOverBetweenTheGuardOfATransactionAndItsCommit, Granted before the commit",
        "ROWS_ARE_NOT_LOCKED, aRowLockExcludesOthersUntilItIsReleased, has locked a row that is locked",
        "ROWS_OF_WAITERS_ARE_NOT_DELETED, aWaiterThatGivesUpLeavesNoRow, that are not deleted although no thread waits",
        "ROWS_OF_WAITERS_ARE_NOT_DELETED, fairRequestsOfTwoServicesAreGrantedInTheOrderOfTheirArrival, A thread still waits",
        "ROWS_ARE_NOT_LOCKED, nobodyHasALockAloneBetweenTheGuardUnderAShareAndTheCommit, Granted before the commit",
        "ROWS_OF_HOLDERS_ARE_NOT_DELETED, permitsAreGrantedTogetherOrNotAtAllAndAReleaseMakesRoom, was: <LOST>",
        "ROWS_OF_HOLDERS_ARE_NOT_SEEN, manyShareALockAndNobodyHasItAloneUntilTheLastHasReleasedIt, Granted exclusively although others",
        "ROWS_OF_HOLDERS_ARE_NOT_SEEN, permitsAreGrantedTogetherOrNotAtAllAndAReleaseMakesRoom, Granted although one permit",
        "READS_ARE_DIRTY, whatIsNotCommittedIsNotSeen, Seen to be released before that was committed"
    })
    void isFound(Defect defect, String test, String message) {
        breaks(Defect.NONE);
        assertThat(ContractRun.of(OnBroken.class, test).failed())
                .as("without the defect")
                .isEmpty();
        breaks(defect);
        Map<String, String> failed = ContractRun.of(OnBroken.class, test).failed();
        // Some defects are refused when a service is built, before any test.
        assertThat(failed.getOrDefault(test, failed.get("BrokenDatabaseTest$OnBroken")))
                .as("%s", failed)
                .contains(message);
    }
}

package example.accountbalance;

import static example.accountbalance.AccountBalance.BALANCE;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AccountBalanceTest {

    @Test
    void tryingAgainLosesNothingButTurnsPeopleAway() {
        AccountBalance.Result result = AccountBalance.run(Teller::withdrawTryingAgain);
        assertThat(result.withdrawn() + result.turnedAway()).isEqualTo(BALANCE);
        assertThat(result.balance()).isEqualTo(result.turnedAway());
        assertThat(result.repetitions()).isPositive();
        assertThat(result.overdraft())
                .isEqualTo("Ada has %1$d, which is less than %2$d".formatted(result.balance(), result.balance() + 1));
    }

    @Test
    void underTheLockEverybodyIsServedAtTheFirstTry() {
        AccountBalance.Result result = AccountBalance.run(Teller::withdrawUnderLock);
        assertThat(result).isEqualTo(new AccountBalance.Result(BALANCE, 0, 0, 0, "Ada has 0, which is less than 1"));
    }
}

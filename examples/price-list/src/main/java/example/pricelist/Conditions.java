package example.pricelist;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waits for conditions that no event reports. */
final class Conditions {

    private Conditions() {}

    static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long begun = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(Pause.LONGEST_SECONDS)) {
                throw new IllegalStateException("There was not " + what);
            }
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }
}

package io.github.holdfast.liquibase;

import java.util.concurrent.atomic.AtomicReference;
import liquibase.change.custom.CustomTaskChange;
import liquibase.database.Database;
import liquibase.exception.CustomChangeException;
import liquibase.exception.ValidationErrors;
import liquibase.resource.ResourceAccessor;
import org.jspecify.annotations.Nullable;

/** A change in the middle of {@code steps.xml}. What it does is up to the test. Liquibase creates it. */
public final class Pause implements CustomTaskChange {

    /** What happens in the middle. */
    interface Middle {
        void reached(Database database) throws Exception;
    }

    private static final AtomicReference<Middle> MIDDLE = new AtomicReference<>();

    /** Called by Liquibase. */
    public Pause() {}

    /** Sets what happens in the next runs; null for nothing. */
    static void inTheMiddle(@Nullable Middle middle) {
        MIDDLE.set(middle);
    }

    @Override
    public void execute(Database database) throws CustomChangeException {
        Middle middle = MIDDLE.get();
        if (middle != null) {
            try {
                middle.reached(database);
            } catch (Exception failed) {
                throw new CustomChangeException(failed);
            }
        }
    }

    @Override
    public @Nullable String getConfirmationMessage() {
        return null;
    }

    @Override
    public void setUp() {}

    @Override
    public void setFileOpener(ResourceAccessor resourceAccessor) {}

    @Override
    public ValidationErrors validate(Database database) {
        return new ValidationErrors();
    }
}

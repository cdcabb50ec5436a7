package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.MethodChecks;
import java.time.Duration;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

/** How to wait and hold, which is the same in {@link Locked} and {@link Limited}. Immutable. */
record HoldSpec(@Nullable Duration waitAtMost, @Nullable Duration lease, Locked.Fence fence) {

    /** What a request type offers for the values of an annotation. */
    record Setters<R>(
            BiFunction<R, Duration, R> waitAtMost,
            BiFunction<R, Duration, R> lease,
            UnaryOperator<R> requireFence,
            UnaryOperator<R> withoutFence) {}

    /**
     * Reads these attributes.
     *
     * @throws IllegalArgumentException if one is wrong; the message says why and what to do
     */
    static HoldSpec of(String waitAtMost, String lease, Locked.Fence fence, AnnotationSite site) {
        if (fence == Locked.Fence.REQUIRED && MethodChecks.returnsStage(site.method())) {
            throw new IllegalArgumentException(
                    "transactions of the threads that complete its stage are not checked, so a fence cannot be required: remove"
                            + " fence, or let the method do its work itself");
        }
        return new HoldSpec(duration("waitAtMost", waitAtMost, site), duration("lease", lease, site), fence);
    }

    private static @Nullable Duration duration(String attribute, String value, AnnotationSite site) {
        String text = site.resolved(value).strip();
        if (text.isEmpty()) {
            return null;
        }
        try {
            return DurationFormatterUtils.detectAndParse(text);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(
                    attribute + " '" + text + "' is not a duration: write '500ms', '10s', '1m30s' or 'PT10S'", wrong);
        }
    }

    /** Returns whether the method may only run where its transactions can be checked. */
    boolean isFenceRequired() {
        return fence == Locked.Fence.REQUIRED;
    }

    /**
     * Returns a request with these values.
     *
     * @throws IllegalArgumentException if a duration is out of range
     */
    <R> R applyTo(R request, Setters<R> setters) {
        R changed = request;
        if (waitAtMost != null) {
            changed = setters.waitAtMost().apply(changed, waitAtMost);
        }
        if (lease != null) {
            changed = setters.lease().apply(changed, lease);
        }
        return switch (fence) {
            case IF_POSSIBLE -> changed;
            case REQUIRED -> setters.requireFence().apply(changed);
            case NONE -> setters.withoutFence().apply(changed);
        };
    }
}

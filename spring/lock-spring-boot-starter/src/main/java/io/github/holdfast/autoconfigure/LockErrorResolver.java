package io.github.holdfast.autoconfigure;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.repository.ReadableDuration;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.Ordered;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.ModelAndView;

/**
 * Gives requests whose lock was refused or lost a status of their own in place of 500. It comes after everything that the application has
 * for an exception, and does not look at causes: an exception of the application keeps its own status.
 *
 * <p>It does not write the response. It hands Spring MVC an exception that has a status, like those of Spring. So the body is what the
 * application gives to those: an error page, or problem details.
 */
final class LockErrorResolver implements HandlerExceptionResolver, Ordered {

    private static final Duration LONGEST = Duration.ofDays(1);

    private final HandlerExceptionResolver ofSpring;
    private final String retryAfterSeconds;

    LockErrorResolver(HandlerExceptionResolver ofSpring, HoldfastProperties.Web properties) {
        Duration retryAfter = properties.retryAfter();
        if (retryAfter.isNegative() || retryAfter.compareTo(LONGEST) > 0) {
            throw new InvalidConfigurationPropertyValueException(
                    "holdfast.web.retry-after", retryAfter, "It must be from zero to " + new ReadableDuration(LONGEST));
        }
        this.ofSpring = ofSpring;
        this.retryAfterSeconds = Long.toString(retryAfter.plusMillis(999).toSeconds());
    }

    /** Behind the application's own resolvers: among those with the same order, beans of the application come first. */
    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    @Override
    public @Nullable ModelAndView resolveException(
            HttpServletRequest request, HttpServletResponse response, @Nullable Object handler, Exception thrown) {
        LockErrorResponse error = answer(thrown);
        return error == null ? null : ofSpring.resolveException(request, response, handler, error);
    }

    /** The texts are for clients. They show neither the name of the lock nor its holder. */
    private @Nullable LockErrorResponse answer(Exception thrown) {
        if (thrown instanceof LockNotAcquiredException || thrown instanceof LockDeadlockException) {
            LockErrorResponse error = new LockErrorResponse(
                    HttpStatus.SERVICE_UNAVAILABLE,
                    "Something that this request needs is in use. Please try again.",
                    (HoldfastException) thrown);
            error.getHeaders().set(HttpHeaders.RETRY_AFTER, retryAfterSeconds);
            return error;
        }
        if (thrown instanceof LockLostException lost) {
            return new LockErrorResponse(
                    HttpStatus.CONFLICT, "This request was interrupted by another one, and may not be complete.", lost);
        }
        return null;
    }

    /** Its message is for the log. */
    private static final class LockErrorResponse extends ErrorResponseException {

        private static final long serialVersionUID = 1L;

        private final String cause;

        LockErrorResponse(HttpStatus status, String detail, HoldfastException cause) {
            super(status, ProblemDetail.forStatusAndDetail(status, detail), cause);
            this.cause = String.valueOf(cause.getMessage());
        }

        @Override
        public String getMessage() {
            return getStatusCode() + ": " + cause;
        }
    }
}

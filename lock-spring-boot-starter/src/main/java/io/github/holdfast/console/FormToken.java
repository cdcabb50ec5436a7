package io.github.holdfast.console;

import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;
import org.springframework.security.web.csrf.CsrfToken;

/**
 * What Spring Security wants to see in a form. A parameter, not a header: as a header, an application may have it expect
 * another form of the value.
 */
record FormToken(String parameter, String value) {

    /** Returns what the filters of this request have left; null if there is no Spring Security, or it does not protect from CSRF. */
    static @Nullable FormToken of(HttpServletRequest request) {
        Object token = request.getAttribute("org.springframework.security.web.csrf.CsrfToken");
        return token == null ? null : WithSpringSecurity.formToken(token);
    }

    /** Loaded only where its classes are. */
    private static final class WithSpringSecurity {

        static FormToken formToken(Object token) {
            CsrfToken csrf = (CsrfToken) token;
            return new FormToken(csrf.getParameterName(), csrf.getToken());
        }
    }
}

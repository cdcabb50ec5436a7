package io.github.holdfast.console;

import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;
import org.springframework.security.web.csrf.CsrfToken;

/**
 * The CSRF token that Spring Security expects in a form. The page sends it as a parameter. As a header, some applications expect
 * another encoding of the value.
 */
record FormToken(String parameter, String value) {

    /** Returns the token from Spring Security's filters; null without Spring Security or its CSRF protection. */
    static @Nullable FormToken of(HttpServletRequest request) {
        Object token = request.getAttribute("org.springframework.security.web.csrf.CsrfToken");
        return token == null ? null : WithSpringSecurity.formToken(token);
    }

    /** The JVM loads this class only if Spring Security is on the class path. */
    private static final class WithSpringSecurity {

        static FormToken formToken(Object token) {
            CsrfToken csrf = (CsrfToken) token;
            return new FormToken(csrf.getParameterName(), csrf.getToken());
        }
    }
}

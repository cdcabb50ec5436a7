package io.github.holdfast.repository.store;

import java.util.regex.Pattern;

/** A pattern of SQL's {@code like}. */
public final class SqlPattern {

    private final Pattern pattern;

    public SqlPattern(String text, char escape) {
        StringBuilder regex = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char next = text.charAt(i);
            if (next == escape && i + 1 < text.length()) {
                i++;
                regex.append(Pattern.quote(text.substring(i, i + 1)));
            } else {
                regex.append(next == '%' ? ".*" : next == '_' ? "." : Pattern.quote(String.valueOf(next)));
            }
        }
        pattern = Pattern.compile(regex.toString(), Pattern.DOTALL);
    }

    public boolean matches(String text) {
        return pattern.matcher(text).matches();
    }
}

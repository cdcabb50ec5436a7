package io.github.holdfast.service;

/** What may name a lock or an owner: what every database stores and compares exactly as it was given. */
final class Names {

    private Names() {}

    static String checked(String what, String name, int maxLength) {
        if (name.isEmpty() || name.length() > maxLength) {
            throw invalid(what, name, "must have 1 to " + maxLength + " characters, but has " + name.length());
        }
        // PostgreSQL, MySQL and MariaDB cut trailing spaces of a value that is too long, without an error.
        if (isSpace(name.codePointAt(0)) || isSpace(name.codePointBefore(name.length()))) {
            throw invalid(what, name, "must not begin or end with white space");
        }
        // PostgreSQL refuses NUL; no database can store half a surrogate pair.
        int unstorable = indexOfUnstorable(name);
        if (unstorable >= 0) {
            throw invalid(
                    what,
                    name,
                    "must not contain control characters or broken surrogate pairs, but has U+%04X"
                            .formatted(name.codePointAt(unstorable)));
        }
        return name;
    }

    /** Each acquisition asks this, mostly in vain: it allocates nothing. */
    private static int indexOfUnstorable(String text) {
        int index = 0;
        while (index < text.length()) {
            int codePoint = text.codePointAt(index);
            if (isUnstorable(codePoint)) {
                return index;
            }
            index += Character.charCount(codePoint);
        }
        return -1;
    }

    /** What people read, with a question mark for each character that a database may refuse. */
    static String storable(String text) {
        if (indexOfUnstorable(text) < 0) {
            return text;
        }
        return text.codePoints()
                .map(codePoint -> isUnstorable(codePoint) ? '?' : codePoint)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    private static boolean isSpace(int codePoint) {
        return Character.isWhitespace(codePoint) || Character.isSpaceChar(codePoint);
    }

    private static boolean isUnstorable(int codePoint) {
        return Character.isISOControl(codePoint) || Character.getType(codePoint) == Character.SURROGATE;
    }

    private static IllegalArgumentException invalid(String what, String name, String problem) {
        StringBuilder shown = new StringBuilder();
        name.codePoints().limit(300).forEach(codePoint -> {
            if (isUnstorable(codePoint)) {
                shown.append("\\u%04X".formatted(codePoint));
            } else {
                shown.appendCodePoint(codePoint);
            }
        });
        return new IllegalArgumentException("The " + what + " '" + shown + "' " + problem);
    }
}

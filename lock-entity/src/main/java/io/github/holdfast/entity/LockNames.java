package io.github.holdfast.entity;

/** Checks the names of locks and owners, which every database must store and compare exactly as they were given. */
public final class LockNames {

    private LockNames() {}

    /**
     * Checks a name, or another text that every database must store exactly.
     *
     * @param what what the text is, for the message
     * @param maxLength the length of its column
     * @return the name
     * @throws IllegalArgumentException if it is empty, longer, begins or ends with white space, or contains control characters
     */
    public static String checked(String what, String name, int maxLength) {
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

    /** Called by each acquisition, and mostly finds nothing: it allocates nothing. */
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

    /** Makes text for people storable, with a question mark for each character that a database may refuse. */
    public static String storable(String text) {
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

package io.github.holdfast.entity;

/** Truncates descriptive text to the length of its column. */
final class Truncation {

    private Truncation() {}

    /** Returns the beginning of a text, without splitting a surrogate pair. */
    static String shortened(String text, int maxLength) {
        if (text.length() <= maxLength) {
            return text;
        }
        boolean insideSurrogatePair = Character.isHighSurrogate(text.charAt(maxLength - 1));
        return text.substring(0, insideSurrogatePair ? maxLength - 1 : maxLength);
    }
}

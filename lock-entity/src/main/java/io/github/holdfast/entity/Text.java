package io.github.holdfast.entity;

/** What is written for people, where the column has an end. */
final class Text {

    private Text() {}

    /** The beginning of a text, without half a surrogate pair. */
    static String shortened(String text, int maxLength) {
        if (text.length() <= maxLength) {
            return text;
        }
        boolean insideSurrogatePair = Character.isHighSurrogate(text.charAt(maxLength - 1));
        return text.substring(0, insideSurrogatePair ? maxLength - 1 : maxLength);
    }
}

package io.github.holdfast.test.sources;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a module: as the page about the configuration has them, and as the metadata has them that Spring Boot's annotation
 * processor has made of the code.
 *
 * <pre>{@code
 * assertThat(DocumentedProperties.below("Console")).isEqualTo(DocumentedProperties.in(metadata));
 * }</pre>
 */
public final class DocumentedProperties {

    private static final String PAGE = "operate/configuration.md";

    /** A default that is no value, such as "the application's". */
    private static final String IN_WORDS = "in words";

    private static final Pattern PROPERTY =
            Pattern.compile("\\{\\s+\"name\": \"([^\"]+)\",\\s+\"type\": \"([^\"]+)\"(.*?)\\n    }", Pattern.DOTALL);

    private static final Pattern DEFAULT_VALUE = Pattern.compile("\"defaultValue\": \"?([^\"\n]*)");

    private DocumentedProperties() {}

    /**
     * Returns the properties of the page's first table below a heading.
     *
     * @param heading the heading, without the {@code #} before it
     * @return the type and the default value of each property, by its name
     * @throws IOException if the page cannot be read
     * @throws AssertionError if a row lacks its meaning, or a property has two rows
     */
    public static Map<String, String> below(String heading) throws IOException {
        Map<String, String> properties = new TreeMap<>();
        for (List<String> row : DocumentTable.below(PAGE, heading)) {
            if (row.size() != 5
                    || row.stream().anyMatch(String::isEmpty)
                    || row.get(3).length() < 10) {
                throw new AssertionError(
                        "Not a name, a type, a default value, a meaning and what that depends on: " + row);
            }
            String before = properties.put(code(row.get(0)), row.get(1) + " = " + defaultValue(row.get(2)));
            if (before != null) {
                throw new AssertionError("There are two rows for " + row.get(0));
            }
        }
        return properties;
    }

    private static String defaultValue(String cell) {
        return cell.startsWith("`") ? code(cell) : IN_WORDS;
    }

    private static String code(String cell) {
        if (!cell.matches("`[^`]+`")) {
            throw new AssertionError("Not between backticks: " + cell);
        }
        return cell.substring(1, cell.length() - 1);
    }

    /**
     * Returns the properties of the metadata.
     *
     * @param metadata the content of {@code META-INF/spring-configuration-metadata.json}, as the annotation processor writes it
     * @return the type and the default value of each property, by its name
     * @throws ClassNotFoundException if the type of a property does not exist
     */
    public static Map<String, String> in(String metadata) throws ClassNotFoundException {
        int begin = metadata.indexOf("\"properties\": [");
        String list = metadata.substring(begin, metadata.indexOf("\n  ]", begin));
        Map<String, String> properties = new TreeMap<>();
        for (MatchResult property : PROPERTY.matcher(list).results().toList()) {
            String defaultValue = DEFAULT_VALUE
                    .matcher(property.group(3))
                    .results()
                    .map(value -> value.group(1).replace("\\/", "/"))
                    .findFirst()
                    .orElse(IN_WORDS);
            properties.put(property.group(1), type(property.group(2)) + " = " + defaultValue);
        }
        if (properties.size() != list.split("\"name\": ", -1).length - 1) {
            throw new AssertionError("Not all properties can be read: " + list);
        }
        return properties;
    }

    private static String type(String name) throws ClassNotFoundException {
        if (name.startsWith(SET)) {
            return "list of " + type(name.substring(SET.length(), name.length() - 1));
        }
        Class<?> type = Class.forName(name.replaceFirst("<.*", ""));
        Object @Nullable [] constants = type.getEnumConstants();
        if (constants != null) {
            return Arrays.stream(constants)
                    .map(constant -> "`"
                            + ((Enum<?>) constant)
                                    .name()
                                    .toLowerCase(Locale.ROOT)
                                    .replace('_', '-') + "`")
                    .collect(Collectors.joining(", "));
        }
        String known = KNOWN.get(type);
        if (known == null) {
            throw new AssertionError("The page has no word for the type " + name);
        }
        return known;
    }

    private static final String SET = "java.util.Set<";

    private static final Map<Class<?>, String> KNOWN = Map.of(
            Boolean.class, "boolean",
            Integer.class, "number",
            String.class, "text",
            Duration.class, "duration",
            Instant.class, "time",
            List.class, "list",
            Map.class, "map of lists");
}

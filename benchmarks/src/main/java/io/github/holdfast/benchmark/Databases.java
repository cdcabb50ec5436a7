package io.github.holdfast.benchmark;

import io.github.holdfast.test.TestDatabase;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** On which databases a benchmark runs. */
final class Databases {

    private Databases() {}

    /**
     * Reads the arguments of a main method.
     *
     * @param arguments kinds of databases, separated by commas; none, or {@code true} as Maven gives it, for those by default
     */
    static List<TestDatabase> chosen(String[] arguments, List<TestDatabase> byDefault) {
        List<TestDatabase> chosen = Stream.of(arguments)
                .flatMap(argument -> Stream.of(argument.split(",")))
                .filter(name -> !name.isBlank() && !name.equalsIgnoreCase("true"))
                .map(name -> TestDatabase.valueOf(name.strip().toUpperCase(Locale.ROOT)))
                .toList();
        return chosen.isEmpty() ? byDefault : chosen;
    }
}

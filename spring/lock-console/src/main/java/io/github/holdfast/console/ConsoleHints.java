package io.github.holdfast.console;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** The files of the page, for native images. */
final class ConsoleHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.resources().registerPattern("io/github/holdfast/console/console.*");
    }
}

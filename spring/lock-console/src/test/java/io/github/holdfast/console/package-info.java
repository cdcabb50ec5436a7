@NullMarked
package io.github.holdfast.console;

import org.jspecify.annotations.NullMarked;

/** Reads the project's sources and pages. */
@NullMarked
package io.github.holdfast.test.sources;

import org.jspecify.annotations.NullMarked;

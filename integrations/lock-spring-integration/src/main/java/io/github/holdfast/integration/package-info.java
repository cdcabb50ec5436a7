/** Locks for Spring Integration. */
@NullMarked
package io.github.holdfast.integration;

import org.jspecify.annotations.NullMarked;

/** Tests of the lock registry. */
@NullMarked
package io.github.holdfast.integration;

import org.jspecify.annotations.NullMarked;

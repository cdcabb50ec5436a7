/** Tests of locks over several databases. */
@NullMarked
package io.github.holdfast.quorum;

import org.jspecify.annotations.NullMarked;

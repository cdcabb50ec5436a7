/** Tests of sharding. */
@NullMarked
package io.github.holdfast.sharding;

import org.jspecify.annotations.NullMarked;

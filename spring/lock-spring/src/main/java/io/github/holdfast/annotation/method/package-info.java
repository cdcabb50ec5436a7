/** What a method and its annotations show without a call. Not for applications. */
@NullMarked
package io.github.holdfast.annotation.method;

import org.jspecify.annotations.NullMarked;

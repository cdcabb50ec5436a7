/** What a method and its annotations tell without being called. Not for applications. */
@NullMarked
package io.github.holdfast.annotation.method;

import org.jspecify.annotations.NullMarked;

/** Data sources for tests: they wrap another one to count or to break what is sent. */
@NullMarked
package io.github.holdfast.test;

import org.jspecify.annotations.NullMarked;

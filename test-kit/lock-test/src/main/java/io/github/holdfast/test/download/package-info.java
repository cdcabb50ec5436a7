/** Fetches files, and keeps them. */
@NullMarked
package io.github.holdfast.test.download;

import org.jspecify.annotations.NullMarked;

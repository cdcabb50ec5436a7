/** The store of one persistence unit, its checks at the start, and its check before a commit. Not for applications. */
@NullMarked
package io.github.holdfast.repository.store;

import org.jspecify.annotations.NullMarked;

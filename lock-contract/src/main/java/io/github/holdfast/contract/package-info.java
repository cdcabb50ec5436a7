/**
 * What locks rely on, as tests for the user's own database: extend {@link io.github.holdfast.contract.LockContract} and say
 * where that is.
 */
@NullMarked
package io.github.holdfast.contract;

import org.jspecify.annotations.NullMarked;

/**
 * Tests for your own database. Extend {@link io.github.holdfast.contract.LockContract}, and supply a data source. The tests check
 * everything that locks rely on.
 */
@NullMarked
package io.github.holdfast.contract;

import org.jspecify.annotations.NullMarked;

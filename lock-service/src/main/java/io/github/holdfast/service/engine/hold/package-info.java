/** Holds, from the grant to the release or loss, and the hand-off to the next holder. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.hold;

import org.jspecify.annotations.NullMarked;

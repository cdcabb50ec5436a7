/** Tests of the router. */
@NullMarked
package io.github.holdfast.router;

import org.jspecify.annotations.NullMarked;

/** The rows that show grants, the writes that change them, and the writes in doubt. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.row;

import org.jspecify.annotations.NullMarked;

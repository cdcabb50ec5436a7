/** Time, threads, listeners, the log and the settings: what every room uses. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.runtime;

import org.jspecify.annotations.NullMarked;

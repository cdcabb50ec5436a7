/** Events about elections, for listeners of the application. */
@NullMarked
package io.github.holdfast.event;

import org.jspecify.annotations.NullMarked;

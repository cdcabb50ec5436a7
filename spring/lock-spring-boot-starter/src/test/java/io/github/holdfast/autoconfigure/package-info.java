/** Spring Boot applications as users write them. */
@NullMarked
package io.github.holdfast.autoconfigure;

import org.jspecify.annotations.NullMarked;

/** Configures the lock service in a Spring Boot application; see {@code holdfast.*} in the application's properties. */
@NullMarked
package io.github.holdfast.autoconfigure;

import org.jspecify.annotations.NullMarked;

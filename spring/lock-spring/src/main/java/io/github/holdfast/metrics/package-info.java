/** Micrometer meters and observations for locks, with or without Spring Boot. */
@NullMarked
package io.github.holdfast.metrics;

import org.jspecify.annotations.NullMarked;

/** What happens to locks as Micrometer meters, with or without Spring Boot. */
@NullMarked
package io.github.holdfast.metrics;

import org.jspecify.annotations.NullMarked;

/** Locks in Spring Boot Actuator: an endpoint and a health indicator. */
@NullMarked
package io.github.holdfast.actuate;

import org.jspecify.annotations.NullMarked;

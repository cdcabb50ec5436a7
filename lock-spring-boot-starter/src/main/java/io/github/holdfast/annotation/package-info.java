/** Annotations that lock the methods of Spring beans. */
@NullMarked
package io.github.holdfast.annotation;

import org.jspecify.annotations.NullMarked;

/** Annotations that run the methods of Spring beans under locks and permits. */
@NullMarked
package io.github.holdfast.annotation;

import org.jspecify.annotations.NullMarked;

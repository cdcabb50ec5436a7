/** A page that shows what is locked, in Spring MVC applications. */
@NullMarked
package io.github.holdfast.console;

import org.jspecify.annotations.NullMarked;

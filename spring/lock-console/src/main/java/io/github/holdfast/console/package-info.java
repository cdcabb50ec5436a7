/** A page that shows locks, in Spring MVC applications. */
@NullMarked
package io.github.holdfast.console;

import org.jspecify.annotations.NullMarked;

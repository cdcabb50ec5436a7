@NullMarked
package io.github.holdfast.test;

import org.jspecify.annotations.NullMarked;

@NullMarked
package io.github.holdfast.liquibase;

import org.jspecify.annotations.NullMarked;

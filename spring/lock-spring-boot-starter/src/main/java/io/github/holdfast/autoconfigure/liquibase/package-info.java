/** Runs the changelog of the locks' tables. Not for applications. */
@NullMarked
package io.github.holdfast.autoconfigure.liquibase;

import org.jspecify.annotations.NullMarked;

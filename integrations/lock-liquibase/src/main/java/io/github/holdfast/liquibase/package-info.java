/** A lock for Liquibase whose holder has a lease, in the table of Holdfast's other locks. */
@NullMarked
package io.github.holdfast.liquibase;

import org.jspecify.annotations.NullMarked;

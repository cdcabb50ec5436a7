/** Holdfast in an application with a {@code persistence.xml} and without Spring's container. */
@NullMarked
package example.plainjpa;

import org.jspecify.annotations.NullMarked;

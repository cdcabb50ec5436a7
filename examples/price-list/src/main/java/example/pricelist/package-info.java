/** A price list with Spring Boot. Any number of readers share it, and one writer replaces it. Few export it at once. */
@NullMarked
package example.pricelist;

import org.jspecify.annotations.NullMarked;

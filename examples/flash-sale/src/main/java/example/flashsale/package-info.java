/** A web shop with Spring Boot: however many instances sell, exactly what is there is sold. */
@NullMarked
package example.flashsale;

import org.jspecify.annotations.NullMarked;

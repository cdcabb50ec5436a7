/** A web shop with Spring Boot. Any number of instances sell exactly the stock, and no more. */
@NullMarked
package example.flashsale;

import org.jspecify.annotations.NullMarked;

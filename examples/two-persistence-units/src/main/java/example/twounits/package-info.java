/** A Spring Boot application with two databases. It shows what a lock protects in each of them. */
@NullMarked
package example.twounits;

import org.jspecify.annotations.NullMarked;

/** A leader election with Spring Boot. One of any number of nodes leads, and another one follows when it dies. */
@NullMarked
package example.leaderelection;

import org.jspecify.annotations.NullMarked;

/** A scheduled task with Spring Boot: however many nodes are there, one of them runs it in each period. */
@NullMarked
package example.nightlyjob;

import org.jspecify.annotations.NullMarked;

/** A scheduled task with Spring Boot. In each period, exactly one of any number of nodes runs it. */
@NullMarked
package example.nightlyjob;

import org.jspecify.annotations.NullMarked;

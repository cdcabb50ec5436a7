/** Tests of the example, and of what the README says. */
@NullMarked
package example.quickstart;

import org.jspecify.annotations.NullMarked;

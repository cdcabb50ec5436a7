/**
 * Three processes sell one stock, first without a lock and then under a lock. {@link example.quickstart.Seller} is the code of an
 * application. The other classes start the processes and print the result.
 */
@NullMarked
package example.quickstart;

import org.jspecify.annotations.NullMarked;

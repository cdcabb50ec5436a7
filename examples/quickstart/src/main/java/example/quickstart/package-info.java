/**
 * Three processes sell one stock, first without and then under a lock. {@link example.quickstart.Seller} is what an
 * application would write; the rest starts the processes and tells what came of it.
 */
@NullMarked
package example.quickstart;

import org.jspecify.annotations.NullMarked;

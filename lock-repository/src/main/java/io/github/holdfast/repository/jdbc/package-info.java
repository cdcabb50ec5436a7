/** How statements are executed: connections, transactions and time limits. Not for applications. */
@NullMarked
package io.github.holdfast.repository.jdbc;

import org.jspecify.annotations.NullMarked;

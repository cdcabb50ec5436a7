/** Data sources for tests. They wrap another data source, to count statements or to break connections. */
@NullMarked
package io.github.holdfast.test.jdbc;

import org.jspecify.annotations.NullMarked;

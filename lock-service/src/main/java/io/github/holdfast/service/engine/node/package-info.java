/** The node of this service, which keeps all locks without a lease. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.node;

import org.jspecify.annotations.NullMarked;

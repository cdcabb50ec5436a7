/** Locks on clusters of several database servers, and behind a pooler. */
@NullMarked
package io.github.holdfast.clusters;

import org.jspecify.annotations.NullMarked;

package io.github.holdfast.autoconfigure;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.service.ElectionInfo;
import io.github.holdfast.service.NodeInfo;
import io.github.holdfast.service.RunInfo;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** What becomes JSON in the endpoint's answers, for native images: its methods do not declare all of it. */
final class EndpointHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        new BindingReflectionHintsRegistrar()
                .registerReflectionHints(
                        hints.reflection(),
                        LocksEndpoint.Page.class,
                        LocksEndpoint.Semaphore.class,
                        LocksEndpoint.Refusal.class,
                        LocksEndpoint.LimitChanged.class,
                        LockInfo.class,
                        ElectionInfo.class,
                        NodeInfo.class,
                        RunInfo.class,
                        PermitInfo.class);
    }
}

package io.github.holdfast.service.fence;

/** Something to do. */
@FunctionalInterface
interface Work {
    void run() throws Exception;
}

/**
 * The lock service, which keeps locks in the application's own database, and its API for operators.
 *
 * <p>{@link io.github.holdfast.service.LockService} is the entry point. {@link io.github.holdfast.service.LockAdmin} lists locks
 * and releases them by force. {@link io.github.holdfast.service.SemaphoreAdmin} does the same for permits.
 */
@NullMarked
package io.github.holdfast.service;

import org.jspecify.annotations.NullMarked;

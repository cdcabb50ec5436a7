package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.PresentAnnotations;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.ClassUtils;

/** Says at start what a reader of the source may not expect of {@link Scheduled} methods. Thread-safe. */
final class ScheduledMethods {

    /** Turns off the line about methods without a lock. */
    static final String REPORT = "holdfast.report-unlocked-tasks";

    private static final Logger LOG = LoggerFactory.getLogger(ScheduledLock.class);

    private static final List<Class<? extends Annotation>> LOCKS =
            List.of(ScheduledLock.class, Locked.class, LeaderOnly.class);

    /** Of the artifact {@code lock-shedlock}. */
    private static final String SCHEDULER_LOCK = "net.javacrumbs.shedlock.spring.annotation.SchedulerLock";

    private final PresentAnnotations present = new PresentAnnotations(Scheduled.class);
    private final Set<String> tasks = new ConcurrentSkipListSet<>();
    private final Set<String> unlocked = new ConcurrentSkipListSet<>();

    /** Adds the methods of a bean's class. */
    void add(Class<?> beanClass) {
        if (present.mayBeIn(beanClass)) {
            MethodIntrospector.selectMethods(beanClass, ScheduledMethods::isScheduled)
                    .forEach(method -> add(method, beanClass));
        }
    }

    private static boolean isScheduled(Method method) {
        return AnnotatedElementUtils.hasAnnotation(method, Scheduled.class)
                || AnnotatedElementUtils.hasAnnotation(method, Schedules.class);
    }

    private void add(Method method, Class<?> beanClass) {
        String name = ClassUtils.getQualifiedMethodName(method, beanClass);
        if (AnnotatedElementUtils.hasAnnotation(method, ScheduledLock.class)) {
            tasks.add(name);
        } else if (!isLocked(method, beanClass)) {
            unlocked.add(name);
        }
    }

    private static boolean isLocked(Method method, Class<?> beanClass) {
        return LOCKS.stream()
                        .anyMatch(lock ->
                                !LockedAnnotations.of(lock, method, beanClass).isEmpty())
                || MergedAnnotations.from(method).isPresent(SCHEDULER_LOCK);
    }

    /** Warns of tasks that are never called. */
    void warnThatSchedulingIsOff() {
        if (!tasks.isEmpty()) {
            LOG.warn(
                    "Scheduling is off, so nothing calls these methods with @Scheduled and @ScheduledLock: {}. Add"
                            + " @EnableScheduling to a configuration class",
                    String.join(", ", tasks));
        }
    }

    /** Names the methods that each instance of the application runs. */
    void reportUnlocked() {
        if (!unlocked.isEmpty()) {
            LOG.info(
                    "Every instance of the application runs these @Scheduled methods, because they have no lock: {}. Add"
                            + " @ScheduledLock where one instance is enough. {}=false turns this message off",
                    String.join(", ", unlocked),
                    REPORT);
        }
    }
}

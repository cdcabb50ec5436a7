package io.github.holdfast.test.sources;

import io.github.holdfast.test.process.JavaProcessBuilder;
import java.lang.reflect.Member;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.agent.RecordedInvocation;
import org.springframework.aot.agent.RecordedInvocationsPublisher;
import org.springframework.aot.hint.RuntimeHints;

/**
 * Records what this JVM reaches by reflection, and compares it with hints for native images. The JVM needs Spring's agent: see
 * {@link #agent}. The module needs {@code spring-core-test}.
 */
public final class RecordedReflection {

    private final Class<?> recorder;
    private final Predicate<String> ownNames;
    private final Queue<RecordedInvocation> invocations = new ConcurrentLinkedQueue<>();

    private RecordedReflection(Class<?> recorder, Predicate<String> ownNames) {
        this.recorder = recorder;
        this.ownNames = ownNames;
    }

    /**
     * Returns the argument that starts the agent in another JVM.
     *
     * @return an argument for {@link JavaProcessBuilder#jvmArgs}
     * @throws URISyntaxException if the path of the agent's jar is unusual
     */
    public static String agent() throws URISyntaxException {
        Path jar = CompiledClasses.location(RecordedInvocation.class);
        return "-javaagent:" + jar + "=+org.springframework,+org.hibernate,+io.github.holdfast";
    }

    /**
     * Starts to record. What counts is reflection by own classes, and reflection on them.
     *
     * @param recorder the class that calls this method; its reflection does not count
     * @param ownNames whether a text is the name of an own class
     * @return the record
     */
    public static RecordedReflection start(Class<?> recorder, Predicate<String> ownNames) {
        RecordedReflection reflection = new RecordedReflection(recorder, ownNames);
        RecordedInvocationsPublisher.addListener(reflection.invocations::add);
        return reflection;
    }

    /**
     * Returns the calls so far.
     *
     * @return the calls that count
     */
    public List<RecordedInvocation> calls() {
        return List.copyOf(invocations).stream().filter(this::isOwn).toList();
    }

    /**
     * Prints a line {@code missing: …} for each call that the hints do not allow. Then it prints a line {@code covered: …} with the
     * number of calls that they allow.
     *
     * @param calls the calls
     * @param hints the hints
     */
    public static void compare(List<RecordedInvocation> calls, RuntimeHints hints) {
        calls.stream()
                .filter(call -> !call.matches(hints))
                .map(RecordedReflection::describe)
                .distinct()
                .forEach(System.out::println);
        System.out.println(
                "covered: " + calls.stream().filter(call -> call.matches(hints)).count());
    }

    private static String describe(RecordedInvocation missing) {
        return "missing: " + missing.getMethodReference() + " of "
                + (missing.isStatic() ? "" : missing.getInstance()) + " with "
                + Arrays.deepToString(missing.getArguments().toArray()) + " from "
                + missing.getStackFrames().limit(3).map(Object::toString).collect(Collectors.joining(" < "));
    }

    /** Whether own code or a helper of Spring for it is reflective, or the reflection is about own classes. */
    private boolean isOwn(RecordedInvocation call) {
        String caller = call.getStackFrames()
                .map(StackWalker.StackFrame::getClassName)
                .filter(name ->
                        !name.startsWith("org.springframework.util.") && !name.startsWith("org.springframework.beans."))
                .findFirst()
                .orElseThrow();
        return hasFoundSomething(call)
                && !caller.startsWith(recorder.getName())
                && !caller.contains("$Proxy")
                && (isName(caller)
                        || call.getArguments().stream().anyMatch(this::isAbout)
                        || (!call.isStatic() && isAbout(call.getInstance())));
    }

    /** A search needs no hint if it finds nothing, or a member of a foreign class. */
    private boolean hasFoundSomething(RecordedInvocation call) {
        boolean isSearch = call.getMethodReference().getClassName().startsWith("java.lang.Class");
        Object found = call.getReturnValue();
        return !isSearch || (found instanceof Member member ? isAbout(member) : found != null);
    }

    private boolean isAbout(@Nullable Object argument) {
        if (argument instanceof Object[] several) {
            return Stream.of(several).anyMatch(this::isAbout);
        }
        if (argument instanceof Member member) {
            return isAbout(member.getDeclaringClass());
        }
        return argument instanceof Class<?> type
                ? isName(type.getName())
                : argument instanceof String text && isName(text);
    }

    /** No code needs the annotations of a package. */
    private boolean isName(String text) {
        return ownNames.test(text) && !text.endsWith("package-info");
    }
}

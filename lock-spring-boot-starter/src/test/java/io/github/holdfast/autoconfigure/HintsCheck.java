package io.github.holdfast.autoconfigure;

import java.io.IOException;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.agent.RecordedInvocation;
import org.springframework.aot.agent.RecordedInvocationsPublisher;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeHint;
import org.springframework.aot.hint.TypeReference;
import org.springframework.boot.json.JsonParserFactory;

/**
 * Runs an application that was processed ahead of time. It prints what Holdfast or the application reaches by reflection, although the
 * generated file does not allow it in a native image.
 */
final class HintsCheck {

    private static final Map<String, MemberCategory> CATEGORIES = Map.of(
            "allDeclaredFields", MemberCategory.ACCESS_DECLARED_FIELDS,
            "allPublicFields", MemberCategory.ACCESS_PUBLIC_FIELDS,
            "allDeclaredConstructors", MemberCategory.INVOKE_DECLARED_CONSTRUCTORS,
            "allPublicConstructors", MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS,
            "allDeclaredMethods", MemberCategory.INVOKE_DECLARED_METHODS,
            "allPublicMethods", MemberCategory.INVOKE_PUBLIC_METHODS);

    private HintsCheck() {}

    /** Runs it; the arguments are its main class and the generated file. */
    public static void main(String[] args) throws Exception {
        Queue<RecordedInvocation> recorded = new ConcurrentLinkedQueue<>();
        RecordedInvocationsPublisher.addListener(recorded::add);
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        List<RecordedInvocation> own =
                List.copyOf(recorded).stream().filter(HintsCheck::isOwn).toList();
        RuntimeHints hints = read(Path.of(args[1]));
        own.stream()
                .filter(invocation -> !invocation.matches(hints))
                .map(HintsCheck::describe)
                .distinct()
                .forEach(System.out::println);
        System.out.println("covered: "
                + own.stream().filter(invocation -> invocation.matches(hints)).count());
    }

    private static String describe(RecordedInvocation missing) {
        return "missing: " + missing.getMethodReference() + " of "
                + (missing.isStatic() ? "" : missing.getInstance()) + " with "
                + Arrays.deepToString(missing.getArguments().toArray()) + " from "
                + missing.getStackFrames().limit(3).map(Object::toString).collect(Collectors.joining(" < "));
    }

    /** Whether the code of Holdfast or a helper of Spring for it is reflective, or the reflection is about its or the application's classes. */
    private static boolean isOwn(RecordedInvocation invocation) {
        String caller = invocation
                .getStackFrames()
                .map(StackWalker.StackFrame::getClassName)
                .filter(name ->
                        !name.startsWith("org.springframework.util.") && !name.startsWith("org.springframework.beans."))
                .findFirst()
                .orElseThrow();
        return !isAboutClassWithoutName(invocation)
                && hasFoundSomething(invocation)
                && !caller.startsWith(HintsCheck.class.getName())
                && !caller.contains("$Proxy")
                && (isName(caller)
                        || invocation.getArguments().stream().anyMatch(HintsCheck::isAbout)
                        || (!invocation.isStatic() && isAbout(invocation.getInstance())));
    }

    /** No hint can name the class of a lambda. */
    private static boolean isAboutClassWithoutName(RecordedInvocation invocation) {
        return !invocation.isStatic()
                && invocation.getInstance() instanceof Class<?> type
                && type.getCanonicalName() == null;
    }

    /** A search that finds nothing, or a member of somebody else's class, needs no hint. */
    private static boolean hasFoundSomething(RecordedInvocation invocation) {
        boolean isSearch = invocation.getMethodReference().getClassName().startsWith("java.lang.Class");
        Object found = invocation.getReturnValue();
        if (found instanceof Method[]) {
            // Beans are searched for annotated methods, and those of others have none.
            return isAbout(invocation.getInstance());
        }
        return !isSearch || (found instanceof Member member ? isAbout(member) : found != null);
    }

    private static boolean isAbout(@Nullable Object argument) {
        if (argument instanceof Object[] several) {
            return Stream.of(several).anyMatch(HintsCheck::isAbout);
        }
        if (argument instanceof Member member) {
            return isAbout(member.getDeclaringClass());
        }
        return argument instanceof Class<?> type
                ? isName(type.getName())
                : argument instanceof String text && isName(text);
    }

    /** Nobody needs the annotations of a package. Spring itself sees to the classes of its proxies. */
    private static boolean isName(String text) {
        return (text.startsWith("io.github.holdfast.") || text.startsWith("example."))
                && !text.endsWith("package-info")
                && !text.contains("$$");
    }

    private static RuntimeHints read(Path file) throws IOException {
        RuntimeHints hints = new RuntimeHints();
        Map<String, Object> content = JsonParserFactory.getJsonParser().parseMap(Files.readString(file));
        for (Map<String, Object> entry : entries(content, "reflection")) {
            if (entry.get("type") instanceof Map<?, ?> proxy) {
                TypeReference[] interfaces = types(proxy.get("proxy")).toArray(TypeReference[]::new);
                hints.proxies().registerJdkProxy(hint -> hint.proxiedInterfaces(interfaces));
            } else {
                hints.reflection().registerType(type(entry.get("type")), type -> register(type, entry));
            }
        }
        for (Map<String, Object> entry : entries(content, "resources")) {
            if (entry.get("glob") instanceof String glob) {
                hints.resources().registerPattern(glob);
            }
        }
        return hints;
    }

    private static void register(TypeHint.Builder type, Map<String, Object> entry) {
        CATEGORIES.forEach((name, category) -> {
            if (entry.containsKey(name)) {
                type.withMembers(category);
            }
        });
        for (Map<String, Object> field : entries(entry, "fields")) {
            type.withField(String.valueOf(field.get("name")));
        }
        for (Map<String, Object> method : entries(entry, "methods")) {
            String name = String.valueOf(method.get("name"));
            List<TypeReference> parameters = types(method.get("parameterTypes"));
            if (name.equals("<init>")) {
                type.withConstructor(parameters, ExecutableMode.INVOKE);
            } else {
                type.withMethod(name, parameters, ExecutableMode.INVOKE);
            }
        }
    }

    private static List<TypeReference> types(@Nullable Object names) {
        return names instanceof List<?> list
                ? list.stream().map(HintsCheck::type).toList()
                : List.of();
    }

    private static TypeReference type(@Nullable Object name) {
        return TypeReference.of(String.valueOf(name));
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> entries(Map<String, Object> of, String name) {
        return of.get(name) instanceof List<?> list ? (List<Map<String, Object>>) list : List.of();
    }
}

package io.github.holdfast.autoconfigure;

import io.github.holdfast.test.sources.RecordedReflection;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.agent.RecordedInvocation;
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
        RecordedReflection reflection = RecordedReflection.start(HintsCheck.class, HintsCheck::isName);
        Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        List<RecordedInvocation> calls =
                reflection.calls().stream().filter(HintsCheck::needsHint).toList();
        RecordedReflection.compare(calls, read(Path.of(args[1])));
    }

    /** Of Holdfast or the application. Spring itself sees to the classes of its proxies. */
    private static boolean isName(String text) {
        return (text.startsWith("io.github.holdfast.") || text.startsWith("example.")) && !text.contains("$$");
    }

    /** No hint can name the class of a lambda. Beans are searched for annotated methods, and those of others have none. */
    private static boolean needsHint(RecordedInvocation call) {
        if (call.isStatic() || !(call.getInstance() instanceof Class<?> type)) {
            return true;
        }
        boolean isLambda = type.getCanonicalName() == null;
        boolean isSearchOfOthers = call.getReturnValue() instanceof Method[] && !isName(type.getName());
        return !isLambda && !isSearchOfOthers;
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

package io.github.holdfast.service;

import static java.util.Comparator.comparing;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What users can import and call is what {@code public-api.txt} says. A change of the API changes that file too, knowingly
 * and under review.
 */
class PublicApiTest {

    private static final String REVIEWED = "public-api.txt";

    /** The packages for users. The public types of the engine are for the service and tasks only. */
    static final List<String> API = List.of(
            "io.github.holdfast.lock",
            "io.github.holdfast.task",
            "io.github.holdfast.semaphore",
            "io.github.holdfast.election",
            "io.github.holdfast.service");

    @Test
    void apiIsTheReviewedOne() throws IOException {
        assertThat(API.stream().map(PublicApiTest::apiOf).collect(joining("\n")))
                .as("the public API; if the change is meant, put it into src/test/resources/%s", REVIEWED)
                .isEqualToNormalizingNewlines(reviewed());
    }

    @Test
    void onlyRecordsAndExceptionsHavePublicConstructors() {
        assertThat(publicTypes())
                .filteredOn(type -> !type.isRecord() && !Throwable.class.isAssignableFrom(type))
                .allSatisfy(type -> assertThat(type.getConstructors()).isEmpty());
    }

    private static String reviewed() throws IOException {
        try (InputStream text = PublicApiTest.class.getClassLoader().getResourceAsStream(REVIEWED)) {
            return new String(Objects.requireNonNull(text, REVIEWED).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String apiOf(String packageName) {
        return "package " + packageName + "\n\n"
                + publicTypes(packageName).stream().map(PublicApiTest::describe).collect(joining("\n"));
    }

    /** Returns all types for users. */
    static List<Class<?>> publicTypes() {
        return API.stream()
                .flatMap(packageName -> publicTypes(packageName).stream())
                .toList();
    }

    private static List<Class<?>> publicTypes(String packageName) {
        return new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests()).importPackages(packageName).stream()
                        .map(JavaClass::reflect)
                        .filter(type -> type.getPackageName().equals(packageName) && isReachable(type))
                        .sorted(comparing(Class::getName))
                        .<Class<?>>map(type -> type)
                        .toList();
    }

    private static boolean isReachable(Class<?> type) {
        Class<?> outer = type.getEnclosingClass();
        return isForUsers(type.getModifiers()) && (outer == null || isReachable(outer));
    }

    private static boolean isForUsers(int modifiers) {
        return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
    }

    private static String describe(Class<?> type) {
        Stream<String> members = Stream.of(
                        listed(type.getDeclaredFields()).map(PublicApiTest::describe),
                        listed(type.getDeclaredConstructors())
                                .map(PublicApiTest::describe)
                                .sorted(),
                        listed(type.getDeclaredMethods())
                                .filter(method -> !isImplied(method))
                                .sorted(comparing(Method::getName).thenComparing(Method::toGenericString))
                                .map(PublicApiTest::describe))
                .flatMap(lines -> lines);
        return header(type) + "\n" + members.map(line -> "    " + line + "\n").collect(joining());
    }

    private static <M extends Member> Stream<M> listed(M[] members) {
        return Arrays.stream(members).filter(member -> isForUsers(member.getModifiers()) && !member.isSynthetic());
    }

    /** What every object, enum and record has. */
    private static boolean isImplied(Method method) {
        String signature = method.getName() + Arrays.toString(method.getParameterTypes());
        return List.of("toString[]", "hashCode[]", "equals[class java.lang.Object]")
                        .contains(signature)
                || (method.getDeclaringClass().isEnum()
                        && List.of("values[]", "valueOf[class java.lang.String]")
                                .contains(signature));
    }

    private static String header(Class<?> type) {
        String supertypes = Stream.concat(
                        Stream.ofNullable(type.getGenericSuperclass()), Arrays.stream(type.getGenericInterfaces()))
                .filter(supertype -> supertype != Object.class && supertype != Record.class && !type.isEnum())
                .map(PublicApiTest::shortName)
                .collect(joining(", "));
        return words(
                kind(type),
                shortName(type) + typeParameters(type.getTypeParameters()),
                supertypes.isEmpty() ? "" : ": " + supertypes);
    }

    private static String kind(Class<?> type) {
        if (type.isInterface()) {
            return "interface";
        }
        if (type.isEnum()) {
            return "enum";
        }
        return type.isRecord()
                ? "record"
                : words(modifiers(type.getModifiers()), type.isSealed() ? "sealed" : "", "class");
    }

    /** All that matter to a user: public goes without saying. */
    private static String modifiers(int modifiers) {
        return Modifier.toString(
                modifiers & (Modifier.PROTECTED | Modifier.STATIC | Modifier.ABSTRACT | Modifier.FINAL));
    }

    private static String describe(Field field) {
        return field.isEnumConstant()
                ? field.getName()
                : words(modifiers(field.getModifiers()), type(field.getAnnotatedType()), field.getName());
    }

    private static String describe(Constructor<?> constructor) {
        return words(modifiers(constructor.getModifiers()), "new" + signature(constructor));
    }

    private static String describe(Method method) {
        return words(
                modifiers(method.getModifiers()),
                typeParameters(method.getTypeParameters()),
                type(method.getAnnotatedReturnType()),
                method.getName() + signature(method));
    }

    private static String signature(Executable executable) {
        String parameters = Arrays.stream(executable.getAnnotatedParameterTypes())
                .map(PublicApiTest::type)
                .collect(joining(", ", "(", ")"));
        String thrown = Arrays.stream(executable.getGenericExceptionTypes())
                .map(PublicApiTest::shortName)
                .collect(joining(", "));
        return words(parameters, thrown.isEmpty() ? "" : "throws " + thrown);
    }

    private static String type(AnnotatedType type) {
        return (type.isAnnotationPresent(Nullable.class) ? "@Nullable " : "") + shortName(type.getType());
    }

    private static String typeParameters(TypeVariable<?>[] parameters) {
        return parameters.length == 0
                ? ""
                : Arrays.stream(parameters)
                        .map(parameter -> parameter.getName() + " extends "
                                + Arrays.stream(parameter.getAnnotatedBounds())
                                        .map(PublicApiTest::type)
                                        .collect(joining(" & ")))
                        .collect(joining(", ", "<", ">"));
    }

    /** As in source code with imports. */
    private static String shortName(Type type) {
        return type.getTypeName().replaceAll("\\b[a-z][a-z0-9]*\\.", "").replace('$', '.');
    }

    private static String words(String... words) {
        return Arrays.stream(words).filter(word -> !word.isEmpty()).collect(joining(" "));
    }
}

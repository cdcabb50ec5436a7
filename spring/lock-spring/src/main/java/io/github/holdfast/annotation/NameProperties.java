package io.github.holdfast.annotation;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.ConstructorReference;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.InlineMap;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.Selection;
import org.springframework.expression.spel.ast.TypeReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.util.ClassUtils;

/**
 * Checks the properties that an expression reads, as far as the declared types show them. SpEL looks for a property when a method is
 * called, in the class of the object. So only a final type, such as a record, shows all of them.
 */
final class NameProperties {

    /** The value of {@code #root} in an expression. */
    record Root(
            Method method,
            List<@Nullable Object> args,
            @Nullable Object target,
            Class<?> targetClass) {}

    /** Nodes whose children are evaluated with another root, or are not expressions. */
    private static final List<Class<? extends SpelNode>> OPAQUE = List.of(
            Selection.class,
            Projection.class,
            Indexer.class,
            InlineMap.class,
            TypeReference.class,
            ConstructorReference.class,
            BeanReference.class);

    private final Map<String, Class<?>> variables;

    private NameProperties(Map<String, Class<?>> variables) {
        this.variables = variables;
    }

    static NameProperties of(Method method, @Nullable String @Nullable [] names) {
        Map<String, Class<?>> variables = new HashMap<>();
        variables.put("root", Root.class);
        variables.put("this", Object.class);
        for (int i = 0; i < method.getParameterCount(); i++) {
            Class<?> type = ClassUtils.resolvePrimitiveIfNecessary(method.getParameterTypes()[i]);
            variables.put("p" + i, type);
            variables.put("a" + i, type);
            String name = names == null ? null : names[i];
            if (name != null) {
                variables.put(name, type);
            }
        }
        return new NameProperties(variables);
    }

    /** Returns the variables that exist in a call of the method. */
    Set<String> variables() {
        return variables.keySet();
    }

    /**
     * Checks an expression.
     *
     * @throws IllegalArgumentException if it reads a property that cannot exist; the message says what to write
     */
    void check(SpelNode node) {
        if (node instanceof CompoundExpression) {
            checkChain(node);
        } else if (node instanceof PropertyOrFieldReference property) {
            Class<?> unused = read(Root.class, property);
        } else if (OPAQUE.stream().noneMatch(opaque -> opaque.isInstance(node))) {
            checkChildren(node);
        }
    }

    private void checkChildren(SpelNode node) {
        for (int i = 0; i < node.getChildCount(); i++) {
            check(node.getChild(i));
        }
    }

    private void checkChain(SpelNode chain) {
        Class<?> type = first(chain.getChild(0));
        for (int i = 1; i < chain.getChildCount(); i++) {
            SpelNode next = chain.getChild(i);
            if (next instanceof PropertyOrFieldReference property) {
                type = read(type, property);
            } else {
                if (next instanceof MethodReference call) {
                    checkCall(type, call);
                }
                type = Object.class;
            }
        }
    }

    private Class<?> first(SpelNode node) {
        if (node instanceof VariableReference) {
            return variables.getOrDefault(node.toStringAST().substring(1), Object.class);
        }
        if (node instanceof PropertyOrFieldReference property) {
            return read(Root.class, property);
        }
        check(node);
        return Object.class;
    }

    /** Returns the type of a property; {@code Object} if it is unknown. */
    private Class<?> read(Class<?> type, PropertyOrFieldReference property) {
        String name = property.getName();
        Stream<Class<?>> getters = Arrays.stream(type.getMethods())
                .filter(method -> method.getParameterCount() == 0 && isGetter(method.getName(), name))
                .map(Method::getReturnType);
        Stream<Class<?>> fields = Arrays.stream(type.getFields())
                .filter(field -> field.getName().equals(name))
                .map(Field::getType);
        List<Class<?>> found = Stream.concat(getters, fields).distinct().toList();
        if (found.isEmpty() && showsAll(type)) {
            throw new IllegalArgumentException(
                    type == Root.class && variables.containsKey(name)
                            ? "'" + name + "' is not the parameter: write '#" + name + "'"
                            : "there is no property '" + name + "' in " + type.getTypeName());
        }
        return found.size() == 1 ? found.get(0) : Object.class;
    }

    /** Kotlin adds a hash to the name of a getter that returns a value class: {@code getId-3kUZ5pA}. */
    private static boolean isGetter(String name, String property) {
        int hash = name.indexOf('-');
        String method = hash < 0 ? name : name.substring(0, hash);
        return Stream.of("", "get", "is").anyMatch(prefix -> method.equalsIgnoreCase(prefix + property));
    }

    private void checkCall(Class<?> type, MethodReference call) {
        checkChildren(call);
        boolean exists = Arrays.stream(type.getMethods())
                .anyMatch(method -> method.getName().equals(call.getName()));
        if (!exists && showsAll(type)) {
            throw new IllegalArgumentException("there is no method '" + call.getName() + "' in " + type.getTypeName());
        }
    }

    /** Whether the objects of a type have no more properties than the type itself. SpEL also looks into an {@code Optional}. */
    private static boolean showsAll(Class<?> type) {
        return Modifier.isFinal(type.getModifiers())
                && !type.isArray()
                && !List.of(Class.class, Optional.class).contains(type);
    }
}

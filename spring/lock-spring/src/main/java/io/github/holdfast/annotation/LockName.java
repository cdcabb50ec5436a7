package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.core.NativeDetector;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** The name of a lock or semaphore, which may contain expressions. It is parsed once, and evaluated for each call. Thread-safe. */
final class LockName {

    private static final SpelExpressionParser PARSER = new SpelExpressionParser();
    private static final Pattern VARIABLE = Pattern.compile("#([\\p{L}_$][\\p{L}\\p{N}_$]*)");
    private static final Pattern TEXT_OF_OBJECT = Pattern.compile("(.+)@[0-9a-f]{1,8}");
    private static final TemplateParserContext TEMPLATE = new TemplateParserContext("{", "}");

    private final String template;
    private final List<Expression> parts;

    private LockName(String template, List<Expression> parts) {
        this.template = template;
        this.parts = parts;
    }

    /** Returns a name without expressions. */
    static LockName fixed(String name) {
        return new LockName(name, List.of(new LiteralExpression(name)));
    }

    /**
     * Parses a name. Its properties must already be replaced.
     *
     * @throws IllegalArgumentException if the name is wrong; the message says why and what to do
     */
    static LockName parsed(String template, Method method, ParameterNameDiscoverer parameterNames) {
        if (template.contains("#{")) {
            throw new IllegalArgumentException(
                    "'" + template + "' contains '#{': expressions are in braces alone, such as '"
                            + template.replace("#{", "{") + "'");
        }
        LockName name = new LockName(template, parts(template));
        @Nullable String @Nullable [] names = parameterNames.getParameterNames(method);
        NameProperties properties = NameProperties.of(method, names);
        name.checkText(properties.variables(), names);
        name.checkVariables(method, names, properties.variables());
        if (!NativeDetector.inNativeImage()) {
            name.expressions().forEach(expression -> properties.check(expression.getAST()));
        }
        return name;
    }

    /** Checks that no variable is outside of braces, where it is text. */
    private void checkText(Set<String> known, @Nullable String @Nullable [] names) {
        for (Expression part : parts) {
            Matcher variable = VARIABLE.matcher(part instanceof LiteralExpression ? part.getExpressionString() : "");
            while (variable.find()) {
                if (names == null || known.contains(variable.group(1)) || template.startsWith("#")) {
                    throw new IllegalArgumentException("'" + variable.group() + "' is taken literally in '" + template
                            + "': put expressions in braces, such as '{" + variable.group() + "}'");
                }
            }
        }
    }

    private static List<Expression> parts(String template) {
        try {
            Expression whole = PARSER.parseExpression(template, TEMPLATE);
            return whole instanceof CompositeStringExpression composite
                    ? List.of(composite.getExpressions())
                    : List.of(whole);
        } catch (ParseException wrong) {
            throw new IllegalArgumentException(
                    "'" + template + "' is not text with SpEL expressions in braces: " + wrong.getMessage(), wrong);
        }
    }

    /** Checks that all variables exist, because SpEL would silently evaluate an unknown variable to null. */
    private void checkVariables(Method method, @Nullable String @Nullable [] names, Set<String> known) {
        for (String variable : variables()) {
            if (!known.contains(variable)) {
                String why = names == null && method.getParameterCount() > 0
                        ? "the class has no parameter names; compile it with -parameters, or use #p0"
                        : "there is no such parameter";
                throw new IllegalArgumentException("'#" + variable + "' is unknown: " + why);
            }
        }
    }

    private List<String> variables() {
        List<String> found = new ArrayList<>();
        expressions().forEach(expression -> addVariables(expression.getAST(), found));
        return found;
    }

    private Stream<SpelExpression> expressions() {
        return parts.stream().filter(SpelExpression.class::isInstance).map(SpelExpression.class::cast);
    }

    private static void addVariables(SpelNode node, List<String> found) {
        if (node instanceof VariableReference) {
            found.add(node.toStringAST().substring(1));
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            addVariables(node.getChild(i), found);
        }
    }

    /** Returns the name with its expressions as they are written. */
    String template() {
        return template;
    }

    /** Returns the name if it contains no expressions. Otherwise returns some valid name, so that the rest can be checked. */
    String sample() {
        return parts.size() == 1 && parts.get(0) instanceof LiteralExpression literal
                ? literal.getExpressionString()
                : "known at each call";
    }

    /**
     * Returns the name for a call.
     *
     * @throws IllegalArgumentException if the value of an expression does not identify what to lock
     */
    String of(EvaluationContext call) {
        StringBuilder name = new StringBuilder();
        for (Expression part : parts) {
            name.append(part instanceof LiteralExpression literal ? literal.getExpressionString() : value(part, call));
        }
        return name.toString();
    }

    private static String value(Expression part, EvaluationContext call) {
        Object value;
        try {
            value = part.getValue(call);
        } catch (EvaluationException wrong) {
            throw new IllegalArgumentException(
                    "{" + part.getExpressionString() + "} cannot be evaluated: " + wrong.getMessage(), wrong);
        }
        if (value == null) {
            throw new IllegalArgumentException("{" + part.getExpressionString() + "} is null");
        }
        if (isContainerOrDate(value)) {
            throw unclear(part, value);
        }
        String text = value.toString();
        if (isTextOfObject(value, text)) {
            throw unclear(part, value);
        }
        if (text.isEmpty()) {
            throw new IllegalArgumentException("{" + part.getExpressionString() + "} is empty");
        }
        return text;
    }

    private static IllegalArgumentException unclear(Expression part, Object value) {
        return new IllegalArgumentException("{" + part.getExpressionString() + "} is a "
                + value.getClass().getTypeName()
                + ", whose toString() may differ from process to process: name a property of it");
    }

    /** The elements of a container may have no text that identifies them. The text of a date depends on the time zone of the process. */
    private static boolean isContainerOrDate(Object value) {
        return value instanceof Iterable
                || value instanceof Map
                || value instanceof Date
                // Each kind of Optional.
                || Contention.EMPTY.containsKey(value.getClass());
    }

    /**
     * Returns whether the text is that of {@link Object#toString()}. A proxy shows that of the object behind it, with the object's class
     * and hash code. Not by reflection on the method, for which a native image would need a hint for each class of a value.
     */
    private static boolean isTextOfObject(Object value, String text) {
        Matcher parts = TEXT_OF_OBJECT.matcher(text);
        return parts.matches()
                && Stream.concat(
                                Stream.of(AopProxyUtils.ultimateTargetClass(value)),
                                Stream.<Class<?>>iterate(value.getClass(), Objects::nonNull, Class::getSuperclass))
                        .anyMatch(type -> type.getName().equals(parts.group(1)));
    }
}

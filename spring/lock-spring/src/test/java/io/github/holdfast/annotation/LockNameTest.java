package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import kotlin.time.TimedValue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;

class LockNameTest {

    private static final DefaultParameterNameDiscoverer PARAMETER_NAMES = new DefaultParameterNameDiscoverer();

    record Order(@Nullable String id, List<String> lines) {}

    static class Orders {
        void ship(@Nullable Order order, int parcel) {}
    }

    @Test
    void bracesAreEvaluatedAndTheRestIsText() throws Exception {
        assertThat(name("orders", null, 1)).isEqualTo("orders");
        assertThat(name("order:{#order.id}/{#parcel + 1}", order("7"), 1)).isEqualTo("order:7/2");
        assertThat(name("{#p0.id}{#a1}", order("7"), 1)).isEqualTo("71");
        assertThat(name("{#order.lines.?[#this != 'a'].size()} of {#order.id}", order("7"), 1))
                .isEqualTo("1 of 7");
        assertThat(name("{#root.method.name}@{#root.target}/{#root.args[1]}/{#root.targetClass.simpleName}", null, 3))
                .isEqualTo("ship@shop/3/Orders");
    }

    @Test
    void partThatDoesNotTellWhatToLockIsRefused() {
        assertThatThrownBy(() -> name("order:{#order}", null, 1)).hasMessage("{#order} is null");
        assertThatThrownBy(() -> name("order:{#order.id}", order(null), 1)).hasMessage("{#order.id} is null");
        assertThatThrownBy(() -> name("order:{#order.id}", order(""), 1)).hasMessage("{#order.id} is empty");
        assertThatThrownBy(() -> name("order:{new Object()}", null, 1))
                .hasMessage(
                        "{new Object()} is a java.lang.Object, whose toString() may differ from process to process: name a"
                                + " property of it");
        assertThatThrownBy(() -> name("orders:{ {1, 2} }", null, 1))
                .hasMessageContaining("whose toString() may differ from process to process");
    }

    @ParameterizedTest
    @ValueSource(strings = {"Optional", "OptionalInt", "OptionalLong", "OptionalDouble"})
    void anOptionalIsRefused(String type) {
        assertThatThrownBy(() -> name("order:{T(java.util." + type + ").empty()}", null, 1))
                .hasMessageContaining("is a java.util." + type + ", whose toString() may differ");
    }

    static class Crate {}

    static class Lift implements Runnable {
        @Override
        public void run() {}
    }

    /** The proxies show the text of the object behind them. */
    @Test
    void proxyOfAnObjectWithoutTextOfItsOwnIsRefused() {
        Object ofCrate = new Crate() {
            @Override
            public String toString() {
                return new Crate().toString();
            }
        };
        ProxyFactory ofClass = new ProxyFactory(new Lift());
        ofClass.setProxyTargetClass(true);
        for (Object value : List.of(ofCrate, ofClass.getProxy(), new ProxyFactory(new Lift()).getProxy())) {
            assertThat(value.toString()).contains("@");
            assertThatThrownBy(() -> name("order:{#root.target}", value))
                    .as("%s", value)
                    .hasMessageContaining("whose toString() may differ from process to process");
        }
    }

    @Test
    void textWithAnAtSignIsAName() throws Exception {
        for (Object value : List.of("bob@cafe.example", "bob@cafe", "io.shop.Crate@5e2d")) {
            assertThat(name("order:{#root.target}", value)).isEqualTo("order:" + value);
        }
    }

    static class Names {
        void work(
                Order order,
                int parcel,
                Crate crate,
                Object any,
                Map<String, String> map,
                List<Order> orders,
                TimedValue<String> timed) {}
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "stock:#order",
                "#order",
                "#p0",
                "stock#a5:{#parcel}",
                "stock:#{#order.id}",
                "{order}",
                "{order.id}",
                "{#order.nope}",
                "{#order.id.nope}",
                "{#order.nope()}",
                "{#p0.nope}",
                "{#parcel.nope}",
                "{#root.nope}",
                "{'a' + #order.nope}",
                "{#order.id.concat(#order.nope)}",
                "{#order.lines.size() + nope}",
                "{#order?.nope}",
                "{#order.id ?: #order.nope}"
            })
    void nameThatCannotBeWhatItsAuthorMeantIsRefused(String template) throws Exception {
        Method work = Names.class.getDeclaredMethods()[0];
        assertThatThrownBy(() -> LockName.parsed(template, work, PARAMETER_NAMES))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageMatching("(?s).*(taken literally|braces alone|is not the parameter|there is no).*");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "stock#1",
                "channel #general",
                "{#crate.id}",
                "{#timed.duration}",
                "{'#'}{#order.id}",
                "{#any.nope}",
                "{#map.size()}",
                "{#map['key']}",
                "{#map[key]}",
                "{#orders.![id]}",
                "{#orders.?[id == 'a'].size()}",
                "{T(java.time.LocalDate).now()}",
                "{#order.id()}",
                "{#order.id.length()}",
                "{#root.targetClass.simpleName}",
                "{method.name}",
                "{#order.lines[0].length()}",
                "{{'a': 1}.size()}",
                "{@shop.name}",
                "{new String('a').length()}",
                "{#parcel.toString()}"
            })
    void nameThatMayBeRightIsAccepted(String template) throws Exception {
        Method work = Names.class.getDeclaredMethods()[0];
        assertThat(LockName.parsed(template, work, PARAMETER_NAMES).template()).isEqualTo(template);
    }

    @Test
    void whatOnlyACallShowsSaysWhichExpressionIsWrong() {
        assertThatThrownBy(() -> name("order:{#root.target.nope}", null, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("{#root.target.nope} cannot be evaluated: EL1008E");
    }

    @Test
    void defaultNameTellsOverloadsApart() throws Exception {
        assertThat(DefaultName.ofLock(ship(), Orders.class))
                .isEqualTo("io.github.holdfast.annotation.LockNameTest$Orders.ship("
                        + "io.github.holdfast.annotation.LockNameTest$Order,int)");
        assertThat(DefaultName.ofSemaphore(ship(), Orders.class))
                .as("a name is that of a lock or of a semaphore")
                .isEqualTo(DefaultName.ofLock(ship(), Orders.class) + ":permits");
        Runnable lambda = () -> {};
        Method run = lambda.getClass().getMethod("run");
        assertThatThrownBy(() -> DefaultName.ofLock(run, lambda.getClass())).hasMessageEndingWith("set a name");
    }

    interface Depot {
        void open();

        default void close() {}
    }

    @Test
    void defaultNameOfAProxyIsThatOfItsInterface() throws Exception {
        Class<?> proxy = Proxy.newProxyInstance(
                        Depot.class.getClassLoader(), new Class<?>[] {Depot.class}, (self, method, arguments) -> null)
                .getClass();
        for (String method : List.of("open", "close")) {
            assertThat(DefaultName.ofLock(Depot.class.getMethod(method), proxy))
                    .isEqualTo("io.github.holdfast.annotation.LockNameTest$Depot." + method + "()");
        }
    }

    @Test
    void longNameIsShortenedByItsHash() {
        String longest = "a".repeat(255);
        String one = DefaultName.shortened(longest + "1");
        assertThat(DefaultName.shortened(longest)).isEqualTo(longest);
        assertThat(one)
                .hasSize(255)
                .startsWith("a".repeat(222) + "~")
                .isEqualTo(DefaultName.shortened(longest + "1"))
                .isNotEqualTo(DefaultName.shortened(longest + "2"));
        assertThat(DefaultName.shortened("a".repeat(221) + "\uD83D\uDD12" + longest))
                .startsWith("a".repeat(221) + "~");
    }

    private static Order order(@Nullable String id) {
        return new Order(id, List.of("a", "b"));
    }

    private static String name(String template, @Nullable Order order, int parcel) throws Exception {
        return name(template, "shop", order, parcel);
    }

    private static String name(String template, Object target) throws Exception {
        return name(template, target, null, 1);
    }

    private static String name(String template, Object target, @Nullable Order order, int parcel) throws Exception {
        @Nullable Object[] arguments = {order, parcel};
        var root = new NameProperties.Root(ship(), Arrays.asList(arguments), target, Orders.class);
        return LockName.parsed(template, ship(), PARAMETER_NAMES)
                .of(new MethodBasedEvaluationContext(root, ship(), arguments, PARAMETER_NAMES));
    }

    private static Method ship() throws NoSuchMethodException {
        return Orders.class.getDeclaredMethod("ship", Order.class, int.class);
    }
}

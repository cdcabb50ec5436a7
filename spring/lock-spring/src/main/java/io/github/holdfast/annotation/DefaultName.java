package io.github.holdfast.annotation;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Collectors;
import org.springframework.util.ClassUtils;

/** Builds the default names of a method's lock and semaphore. Every process with the same code gets the same name. */
final class DefaultName {

    private static final int MAX_LENGTH = 255;

    /** The length of a hash in hexadecimal digits. A collision becomes likely only among about 2 to the 64th methods. */
    private static final int HASH_LENGTH = 32;

    private DefaultName() {}

    /**
     * Returns the name of the method's lock. It consists of class, method and parameter types.
     *
     * @param method the most specific one
     * @param targetClass the class of the bean
     * @throws IllegalArgumentException if the class is generated at run time, because its name then differs in each process
     */
    static String ofLock(Method method, Class<?> targetClass) {
        return shortened(full(method, targetClass));
    }

    /**
     * Returns the name of the method's semaphore. It differs from {@link #ofLock}, because a semaphore cannot have the name of a lock.
     *
     * @throws IllegalArgumentException as for {@link #ofLock}
     */
    static String ofSemaphore(Method method, Class<?> targetClass) {
        return shortened(full(method, targetClass) + ":permits");
    }

    private static String full(Method method, Class<?> targetClass) {
        // The class of a proxy has a different name in each process.
        Class<?> named = Modifier.isAbstract(method.getModifiers()) || Proxy.isProxyClass(targetClass)
                ? method.getDeclaringClass()
                : ClassUtils.getUserClass(targetClass);
        if (named.isHidden() || named.isSynthetic()) {
            throw new IllegalArgumentException(
                    "its class " + named.getTypeName() + " has a different name in each process: set a name");
        }
        String parameters = Arrays.stream(method.getParameterTypes())
                .map(Class::getTypeName)
                .collect(Collectors.joining(",", "(", ")"));
        return named.getTypeName() + "." + method.getName() + parameters;
    }

    /** Shortens a name that is too long. The result is the beginning of the name and a hash of the whole name. */
    static String shortened(String name) {
        if (name.length() <= MAX_LENGTH) {
            return name;
        }
        int kept = MAX_LENGTH - HASH_LENGTH - 1;
        // Databases cannot store half a surrogate pair.
        String beginning = name.substring(0, Character.isHighSurrogate(name.charAt(kept - 1)) ? kept - 1 : kept);
        return beginning + "~" + hash(name);
    }

    private static String hash(String name) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(name.getBytes(UTF_8));
            return HexFormat.of().formatHex(digest).substring(0, HASH_LENGTH);
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError("Every Java platform has SHA-256", impossible);
        }
    }
}

package io.github.holdfast.compatibility;

import static java.util.stream.Collectors.toCollection;

import java.io.IOException;
import java.lang.invoke.MethodType;
import java.net.URI;
import java.net.URL;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.asm.ClassReader;
import org.springframework.asm.ClassVisitor;
import org.springframework.asm.Handle;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.asm.Type;

/**
 * The methods and fields of other libraries that classes refer to.
 *
 * @param calls each method and field to which a class refers, with that class
 */
record Linkage(Set<Call> calls) {

    private static final List<String> OTHERS = List.of(
            "org/hibernate/", "org/springframework/", "jakarta/persistence/", "org/aopalliance/", "io/micrometer/");

    /**
     * A reference to a member.
     *
     * @param by the class that refers to it, as in class files
     */
    record Call(String by, String owner, String name, String descriptor) {

        boolean isThere() {
            try {
                Class<?> type = Class.forName(owner.replace('/', '.'), false, Linkage.class.getClassLoader());
                return hierarchy(type).stream().anyMatch(this::isIn);
            } catch (ClassNotFoundException | LinkageError missing) {
                return false;
            }
        }

        private boolean isIn(Class<?> type) {
            if (!descriptor.startsWith("(")) {
                return Arrays.stream(type.getDeclaredFields())
                        .anyMatch(field -> field.getName().equals(name)
                                && field.getType().descriptorString().equals(descriptor));
            }
            if (name.equals("<init>")) {
                return Arrays.stream(type.getDeclaredConstructors())
                        .anyMatch(constructor ->
                                descriptor.equals(MethodType.methodType(void.class, constructor.getParameterTypes())
                                        .descriptorString()));
            }
            return Arrays.stream(type.getDeclaredMethods())
                    .anyMatch(method -> method.getName().equals(name)
                            && descriptor.equals(
                                    MethodType.methodType(method.getReturnType(), method.getParameterTypes())
                                            .descriptorString()));
        }

        private static Set<Class<?>> hierarchy(@Nullable Class<?> type) {
            Set<Class<?>> all = new LinkedHashSet<>();
            if (type != null) {
                all.add(type);
                all.addAll(hierarchy(type.getSuperclass()));
                Arrays.stream(type.getInterfaces()).map(Call::hierarchy).forEach(all::addAll);
                all.add(Object.class);
            }
            return all;
        }

        @Override
        public String toString() {
            return by + " -> " + owner + '.' + name + descriptor;
        }
    }

    /** Returns what the classes of a jar, or of a folder, refer to. */
    static Linkage of(URL classes) throws IOException {
        if (classes.getPath().endsWith(".jar")) {
            try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + classes), Map.of())) {
                return below(jar.getPath("/"));
            }
        }
        return below(Path.of(URI.create(classes.toString())));
    }

    private static Linkage below(Path root) throws IOException {
        Set<Call> calls = new LinkedHashSet<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".class")).toList()) {
                ClassReader reader = new ClassReader(Files.readAllBytes(file));
                reader.accept(new Reader(reader.getClassName(), calls), ClassReader.SKIP_DEBUG);
            }
        }
        return new Linkage(calls);
    }

    /** Returns what is not on the class path, except where these classes refer to it. */
    Set<String> missing(Collection<String> exceptBy) {
        return calls.stream()
                .filter(call -> !exceptBy.contains(call.by()) && !call.isThere())
                .map(Call::toString)
                .collect(toCollection(TreeSet::new));
    }

    private static final class Reader extends ClassVisitor {

        private final String by;
        private final Set<Call> calls;

        Reader(String by, Set<Call> calls) {
            super(Opcodes.ASM9);
            this.by = by;
            this.calls = calls;
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String method, String descriptor, String signature, String[] exceptions) {
            return new MethodVisitor(Opcodes.ASM9) {
                @Override
                public void visitMethodInsn(int code, String owner, String name, String type, boolean isInterface) {
                    add(owner, name, type);
                }

                @Override
                public void visitFieldInsn(int code, String owner, String name, String type) {
                    add(owner, name, type);
                }

                @Override
                public void visitInvokeDynamicInsn(String name, String type, Handle bootstrap, Object... arguments) {
                    for (Object argument : arguments) {
                        if (argument instanceof Handle handle) {
                            add(handle.getOwner(), handle.getName(), handle.getDesc());
                        }
                    }
                }
            };
        }

        private void add(String owner, String name, String descriptor) {
            String type =
                    owner.startsWith("[") ? Type.getType(owner).getElementType().getInternalName() : owner;
            if (OTHERS.stream().anyMatch(type::startsWith)) {
                calls.add(new Call(by, type, name, descriptor));
            }
        }
    }
}

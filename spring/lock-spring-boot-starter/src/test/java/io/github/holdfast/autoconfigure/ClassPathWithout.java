package io.github.holdfast.autoconfigure;

import java.io.IOException;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** This JVM's class path as it would be without some jars: neither their classes nor their resources. */
final class ClassPathWithout extends ClassLoader {

    private final List<Jar> jars;

    /** What can be missing, with the package that is in no other jar. */
    enum Jar {
        LIQUIBASE("liquibase-core", "liquibase."),
        SPRING_BOOT_LIQUIBASE("spring-boot-liquibase", "org.springframework.boot.liquibase.");

        private final String artifact;
        private final String packageName;

        Jar(String artifact, String packageName) {
            this.artifact = artifact;
            this.packageName = packageName;
        }

        boolean hasClass(String name) {
            return name.startsWith(packageName);
        }

        boolean hasResource(URL url) {
            return url.getPath().contains("/" + artifact + "-");
        }
    }

    ClassPathWithout(Jar... jars) {
        super(ClassPathWithout.class.getClassLoader());
        this.jars = List.of(jars);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (jars.stream().anyMatch(jar -> jar.hasClass(name))) {
            throw new ClassNotFoundException(name);
        }
        return super.loadClass(name, resolve);
    }

    @Override
    public @Nullable URL getResource(String name) {
        URL url = super.getResource(name);
        return url == null || isThere(url) ? url : null;
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        return Collections.enumeration(Collections.list(super.getResources(name)).stream()
                .filter(this::isThere)
                .toList());
    }

    private boolean isThere(URL url) {
        return jars.stream().noneMatch(jar -> jar.hasResource(url));
    }
}

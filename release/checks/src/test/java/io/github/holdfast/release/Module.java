package io.github.holdfast.release;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A module of the project, as its pom describes it.
 *
 * @param directory its name in the project
 * @param pom the root element of its pom
 */
record Module(String directory, Xml pom) {

    static final Path PROJECT = Path.of("..", "..");

    /** The pom that all others inherit from, apart from the BOM. */
    static Module root() throws IOException {
        return in("");
    }

    /** The parent of the modules that are published. */
    static Module parent() throws IOException {
        return in("release/parent");
    }

    /** The list of versions for users. */
    static Module bom() throws IOException {
        return in("release/lock-bom");
    }

    /** Returns the modules of which a release consists, without the BOM. */
    static List<Module> published() throws IOException {
        List<Module> published = new ArrayList<>();
        for (Module module : named()) {
            if (module.property("maven.deploy.skip").equals("false")) {
                published.add(module);
            }
        }
        return published;
    }

    /** Returns the names of all artifacts of a release. */
    static List<String> publishedArtifacts() throws IOException {
        List<String> names =
                new ArrayList<>(published().stream().map(Module::artifactId).toList());
        names.add(bom().artifactId());
        return names;
    }

    /** Returns all modules, groups before what they contain. */
    static List<Module> named() throws IOException {
        return namedBy(root());
    }

    private static List<Module> namedBy(Module group) throws IOException {
        List<Module> modules = new ArrayList<>();
        List<Xml> names = new ArrayList<>(group.pom().all("modules", "module"));
        names.addAll(group.pom().all("profiles", "profile", "modules", "module"));
        for (Xml name : names) {
            Module module = in(group.directory().isEmpty() ? name.text() : group.directory() + "/" + name.text());
            modules.add(module);
            modules.addAll(namedBy(module));
        }
        return modules;
    }

    private static Module in(String directory) throws IOException {
        return new Module(directory, Xml.read(PROJECT.resolve(directory).resolve("pom.xml")));
    }

    String artifactId() {
        return pom.text("artifactId");
    }

    /** Returns the version that the module or its parent says. */
    String version() {
        String own = pom.text("version");
        return own.isEmpty() ? pom.text("parent", "version") : own;
    }

    /** Returns the value of a property of its own, or the empty string if it has none. */
    String property(String name) {
        return pom.text("properties", name);
    }

    /** Returns a profile of its own. */
    Xml profile(String id) {
        return pom.all("profiles", "profile").stream()
                .filter(profile -> profile.text("id").equals(id))
                .findFirst()
                .orElseThrow(() -> new AssertionError(artifactId() + " has no profile " + id));
    }

    /** Named in the reports of tests. */
    @Override
    public String toString() {
        return artifactId();
    }
}

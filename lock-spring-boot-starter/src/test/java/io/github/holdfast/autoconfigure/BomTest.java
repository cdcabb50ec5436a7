package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** The BOM names what is published, in the version of the build. */
class BomTest {

    private static final Path ROOT = Path.of("..");

    /** For tests of this project only. */
    private static final String NOT_PUBLISHED = "lock-test";

    @Test
    void itHasEachLibraryInItsVersion() throws Exception {
        Document bom = read("lock-bom");
        Set<String> published = new TreeSet<>();
        for (Element module : elements(read("."), "module")) {
            String artifact = elements(read(module.getTextContent()), "artifactId").stream()
                    .map(Element::getTextContent)
                    .filter(name -> !name.equals("holdfast-parent"))
                    .findFirst()
                    .orElseThrow();
            if (artifact.startsWith("lock-") && !artifact.equals("lock-bom") && !artifact.equals(NOT_PUBLISHED)) {
                published.add(artifact);
            }
        }
        List<Element> entries = elements(bom, "dependency");
        assertThat(entries)
                .extracting(entry -> text(entry, "artifactId"))
                .containsExactlyInAnyOrderElementsOf(published);
        assertThat(entries).extracting(entry -> text(entry, "version")).containsOnly("${project.version}");
        assertThat(text(bom.getDocumentElement(), "version"))
                .isEqualTo(text(read(".").getDocumentElement(), "version"));
    }

    private static Document read(String module) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(ROOT.resolve(module).resolve("pom.xml").toFile());
    }

    private static List<Element> elements(Document document, String name) {
        NodeList nodes = document.getElementsByTagName(name);
        List<Element> elements = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            elements.add((Element) nodes.item(i));
        }
        return elements;
    }

    private static String text(Element parent, String name) {
        return parent.getElementsByTagName(name).item(0).getTextContent();
    }
}

package io.github.holdfast.release;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** An element of an XML file. The names of its children are without namespaces. */
record Xml(Element element) {

    /** Returns the root element of a file. */
    static Xml read(Path file) throws IOException {
        try {
            return new Xml(DocumentBuilderFactory.newDefaultInstance()
                    .newDocumentBuilder()
                    .parse(file.toFile())
                    .getDocumentElement());
        } catch (ParserConfigurationException | SAXException e) {
            throw new IOException(file.toString(), e);
        }
    }

    /** Returns all elements with these names, each below the one before. */
    List<Xml> all(String... path) {
        Stream<Xml> found = Stream.of(this);
        for (String name : path) {
            found = found.flatMap(
                    parent -> parent.children().filter(child -> child.name().equals(name)));
        }
        return found.toList();
    }

    /** Returns the text of the first such element, or the empty string if there is none. */
    String text(String... path) {
        return all(path).stream().findFirst().map(Xml::text).orElse("");
    }

    /** Returns the text of this element and those below it, with one space wherever there is white space. */
    String text() {
        return element.getTextContent().strip().replaceAll("\\s+", " ");
    }

    String name() {
        return element.getNodeName();
    }

    Stream<Xml> children() {
        NodeList nodes = element.getChildNodes();
        return IntStream.range(0, nodes.getLength())
                .mapToObj(nodes::item)
                .filter(node -> node.getNodeType() == Node.ELEMENT_NODE)
                .map(node -> new Xml((Element) node));
    }
}

package io.github.holdfast.autoconfigure.liquibase;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.Set;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import liquibase.database.DatabaseList;
import liquibase.exception.LiquibaseException;
import liquibase.resource.ResourceAccessor;

/**
 * The change sets of a changelog for one kind of database, read without Liquibase's parser, which also validates the whole document.
 *
 * @param file the changelog's name in Liquibase's table
 * @param ids the ids of the change sets
 */
record ChangeSets(String file, Set<String> ids) {

    /**
     * Reads a changelog that includes no others.
     *
     * @param database Liquibase's name of the kind of database
     */
    static ChangeSets of(ResourceAccessor resources, String changelog, String database) throws LiquibaseException {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        try (InputStream content = resources.getExisting(changelog).openInputStream()) {
            XMLStreamReader xml = factory.createXMLStreamReader(content);
            try {
                return of(xml, database);
            } finally {
                xml.close();
            }
        } catch (IOException | XMLStreamException unreadable) {
            throw new LiquibaseException(unreadable);
        }
    }

    private static ChangeSets of(XMLStreamReader xml, String database) throws XMLStreamException {
        xml.nextTag();
        String file = xml.getAttributeValue(null, "logicalFilePath");
        Set<String> ids = new HashSet<>();
        while (xml.hasNext()) {
            if (xml.next() == XMLStreamReader.START_ELEMENT
                    && xml.getLocalName().equals("changeSet")
                    && DatabaseList.definitionMatches(xml.getAttributeValue(null, "dbms"), database, true)) {
                ids.add(xml.getAttributeValue(null, "id"));
            }
        }
        return new ChangeSets(file, ids);
    }
}

import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import javax.xml.parsers.DocumentBuilderFactory;

/**
 * The build runs this program. It reads the bill of materials that CycloneDX made, and writes three things into the
 * classes: the list of libraries with their licences, the bill of materials itself, and a {@code pom.properties} for
 * each library. Security scanners recognize a library inside an archive by that file, and some libraries do not
 * contain one.
 *
 * <p>Arguments: directory with bom.xml and bom.json, directory of the classes.
 */
class ThirdParty {

    private static final String OURS = "io.outbox";

    private static final String HEAD = """
            outbox.jar is under the Apache License 2.0. It contains these libraries, unchanged except that some classes were
            left out. Where a library has several licences, it may be used under any of them. The list is made by the build;
            META-INF/sbom/outbox.cdx.json has the same as a bill of materials in the format of CycloneDX.

            META-INF/LICENSE, META-INF/LICENSE.txt and META-INF/NOTICE hold what the libraries bring themselves, one after the
            other; META-INF/licenses has the texts of LGPL-2.1 and MPL-2.0. To use another version of MariaDB Connector/J, put
            it before outbox.jar on the class path.

            """;

    /** Code that other libraries contain. No bill of materials lists it; ArchiveTest fails if there is more. */
    private static final String INSIDE = """

            Inside of these libraries, under packages of theirs:

            FastDoubleParser, in com.fasterxml.jackson.core:jackson-core
                MIT
            Schubfach, in com.fasterxml.jackson.core:jackson-core
                MIT
            Protocol Buffers, in io.prometheus:prometheus-metrics-exposition-formats
                BSD-3-Clause
            OnGres SCRAM, SASLprep and Stringprep, in org.postgresql:postgresql
                BSD-2-Clause
            """;

    public static void main(String[] arguments) throws Exception {
        Path boms = Path.of(arguments[0]);
        Path metaInf = Path.of(arguments[1], "META-INF");
        TreeMap<String, String> list = new TreeMap<>();
        for (Element component : children(components(boms.resolve("bom.xml")), "component")) {
            String group = text(component, "group");
            String name = text(component, "name");
            String version = text(component, "version");
            if (!group.equals(OURS)) {
                list.put(group + ":" + name, group + ":" + name + ":" + version + licences(component));
                writeProperties(metaInf, group, name, version);
            }
        }
        if (list.isEmpty()) {
            throw new IllegalStateException("No library found in " + boms.resolve("bom.xml"));
        }
        Files.createDirectories(metaInf.resolve("sbom"));
        Files.copy(
                boms.resolve("bom.json"),
                metaInf.resolve("sbom/outbox.cdx.json"),
                StandardCopyOption.REPLACE_EXISTING);
        Files.writeString(
                metaInf.resolve("THIRD-PARTY.txt"),
                HEAD + String.join("\n", list.values()) + "\n" + INSIDE,
                StandardCharsets.UTF_8);
    }

    private static Element components(Path bom) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        Element root = factory.newDocumentBuilder().parse(bom.toFile()).getDocumentElement();
        return children(root, "components").get(0);
    }

    /** One line for each licence: its id or name, and the address of its text. */
    private static String licences(Element component) {
        StringBuilder lines = new StringBuilder();
        for (Element licences : children(component, "licenses")) {
            for (Element expression : children(licences, "expression")) {
                lines.append("\n    ").append(expression.getTextContent().strip());
            }
            for (Element licence : children(licences, "license")) {
                String id = text(licence, "id");
                lines.append("\n    ").append(id.isEmpty() ? text(licence, "name") : id);
                String url = text(licence, "url");
                lines.append(url.isEmpty() ? "" : " (" + url + ")");
            }
        }
        return lines.length() == 0 ? "\n    unknown" : lines.toString();
    }

    private static void writeProperties(Path metaInf, String group, String name, String version) throws IOException {
        Path directory = Files.createDirectories(metaInf.resolve("maven").resolve(group).resolve(name));
        Files.writeString(
                directory.resolve("pom.properties"),
                "artifactId=" + name + "\ngroupId=" + group + "\nversion=" + version + "\n",
                StandardCharsets.ISO_8859_1);
    }

    private static String text(Element parent, String name) {
        List<Element> found = children(parent, name);
        return found.isEmpty() ? "" : found.get(0).getTextContent().strip();
    }

    private static List<Element> children(Element parent, String name) {
        NodeList nodes = parent.getChildNodes();
        List<Element> found = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            if (nodes.item(i) instanceof Element element && element.getTagName().equals(name)) {
                found.add(element);
            }
        }
        return found;
    }
}

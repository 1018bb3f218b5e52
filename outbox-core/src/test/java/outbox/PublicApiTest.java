package outbox;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** The public surface of the core is listed on one page. */
class PublicApiTest {

    private static final Pattern TYPE = Pattern.compile("^\\| `([A-Za-z]+)` \\|.*");
    private static final Pattern PACKAGE = Pattern.compile("^### `(outbox[a-z.]*)`.*");

    @Test
    void every_public_type_of_the_core_is_on_the_page_of_the_api() throws IOException {
        assertThat(typesOnThePage()).containsAll(publicTypes());
    }

    private static Set<String> publicTypes() {
        return new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS).importPackages("outbox").stream()
                        .filter(type ->
                                type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC))
                        .filter(type -> !type.getPackageName().startsWith("outbox.internal"))
                        .map(JavaClass::getName)
                        .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The tables under the headings of packages, from the heading of the core to that of the next module. */
    private static Set<String> typesOnThePage() throws IOException {
        Set<String> types = new TreeSet<>();
        String module = "";
        String currentPackage = "";
        for (String line : Files.readAllLines(Path.of("..", "docs", "api.md"))) {
            if (line.startsWith("## ")) {
                module = line;
            }
            var heading = PACKAGE.matcher(line);
            if (heading.matches()) {
                currentPackage = heading.group(1);
            }
            var row = TYPE.matcher(line);
            if (module.contains("outbox-core") && row.matches()) {
                types.add(currentPackage + "." + row.group(1));
            }
        }
        return types;
    }
}

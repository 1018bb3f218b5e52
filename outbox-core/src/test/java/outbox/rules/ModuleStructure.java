package outbox.rules;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.Set;
import java.util.function.UnaryOperator;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

/**
 * The rules for the structure of every library module. A module extends this class in its tests; the rules read the
 * classes that the module has compiled, and no others.
 */
public abstract class ModuleStructure {

    /** The classes of the module under test: Maven runs tests in the directory of their module. */
    protected static final JavaClasses CLASSES = new ClassFileImporter().importPath(Path.of("target", "classes"));

    /** Every module logs and prints through it; the core exports it to all of them. */
    private static final String TEXT = "outbox.internal.text";

    private final String root;
    private final Set<String> internal;

    /**
     * @param root the package of the module, which contains all others
     * @param internal the internal packages of other modules that this module may use
     */
    protected ModuleStructure(String root, String... internal) {
        this.root = root;
        this.internal = Set.of(internal);
    }

    @Test
    protected void packages_have_no_cycle() {
        slices().assignedFrom(packages(UnaryOperator.identity()))
                .should()
                .beFreeOfCycles()
                .check(CLASSES);
    }

    @Test
    void only_listed_internal_packages_of_other_modules_are_used() {
        noClasses()
                .should()
                .dependOnClassesThat(DescribedPredicate.describe(
                        "are internal to another module, except " + internal,
                        type -> isInternal(type) && !internal.contains(type.getPackageName())))
                .allowEmptyShould(true)
                .check(CLASSES);
    }

    private boolean isInternal(JavaClass type) {
        String name = type.getPackageName();
        return name.startsWith("outbox.")
                && !name.equals(TEXT)
                && (name.endsWith(".internal") || name.contains(".internal."))
                && !name.startsWith(root + ".internal");
    }

    /** Returns one slice for each package, or for several packages with the same name. */
    protected static SliceAssignment packages(UnaryOperator<String> names) {
        return new SliceAssignment() {
            @Override
            public SliceIdentifier getIdentifierOf(JavaClass type) {
                return type.getPackageName().startsWith("outbox")
                        ? SliceIdentifier.of(names.apply(type.getPackageName()))
                        : SliceIdentifier.ignore();
            }

            @Override
            public String getDescription() {
                return "packages";
            }
        };
    }
}

package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.lang.module.ResolvedModule;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** A program that is a Java module compiles and runs with our modules, and cannot use their internal packages. */
class ModularProgramTest {

    private static final String PROGRAM = """
            package program;

            import outbox.jdbc.JdbcEventStores;
            import outbox.memory.MemoryEventStore;
            import outbox.EventEnvelope;
            import java.util.List;

            public final class Program {
                public static String run() throws Exception {
                    MemoryEventStore store = MemoryEventStore.builder().build();
                    try (var connection = store.connections().getConnection()) {
                        store.insertAll(connection, List.of(EventEnvelope.ofJson("OrderPlaced", "{}")), null);
                    }
                    return JdbcEventStores.get("h2").getClass().getName();
                }
            }
            """;

    @TempDir
    private Path directory;

    @Test
    void a_modular_program_runs_with_the_stores_found_as_services() throws Exception {
        Path compiled = compile(PROGRAM);

        Configuration modules = ModuleLayer.boot()
                .configuration()
                .resolveAndBind(
                        ModuleFinder.of(
                                Stream.concat(Stream.of(compiled), modulePath()).toArray(Path[]::new)),
                        ModuleFinder.of(),
                        Set.of("program"));
        ClassLoader loader = ModuleLayer.boot()
                .defineModulesWithOneLoader(modules, ClassLoader.getPlatformClassLoader())
                .findLoader("program");

        assertThat(call(loader)).isEqualTo("outbox.jdbc.H2EventStore");
        assertThat(modules.modules()).extracting(ResolvedModule::name).contains("outbox.core", "outbox.jdbc");
    }

    @Test
    void it_cannot_use_internal_packages() {
        assertThatThrownBy(() -> compile("package program; class Program { outbox.internal.Ulid id; }"))
                .hasMessageContaining("package outbox.internal is declared in module outbox.core");
        assertThatThrownBy(() -> compile("package program; class Program { outbox.jdbc.internal.sql.Binder binder; }"))
                .hasMessageContaining("package outbox.jdbc.internal.sql is declared in module outbox.jdbc");
    }

    private static Object call(ClassLoader loader) throws ReflectiveOperationException {
        try {
            return loader.loadClass("program.Program").getMethod("run").invoke(null);
        } catch (InvocationTargetException e) {
            throw new AssertionError(e.getCause());
        }
    }

    private Path compile(String program) throws IOException {
        Path sources = Files.createDirectories(directory.resolve("sources"));
        Path module = Files.writeString(
                sources.resolve("module-info.java"),
                "module program { requires outbox.jdbc; requires outbox.memory; exports program; }");
        Path source = Files.writeString(sources.resolve("Program.java"), program);
        Path classes = directory.resolve("classes");
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "a JDK runs the tests");
        StringWriter messages = new StringWriter();
        List<String> options = List.of(
                "-proc:none",
                "--class-path", // nothing: otherwise our classes are also in the unnamed module
                directory.resolve("none").toString(),
                "-d",
                classes.toString(),
                "--module-path",
                modulePath().map(Path::toString).collect(Collectors.joining(File.pathSeparator)));
        try (var files = compiler.getStandardFileManager(null, null, null)) {
            boolean compiled = compiler.getTask(
                            messages, files, null, options, null, files.getJavaFileObjects(module, source))
                    .call();
            if (!compiled) {
                throw new IllegalStateException(messages.toString());
            }
        }
        return classes;
    }

    /** Returns our modules from the class path of the tests, as directories or jars. */
    private static Stream<Path> modulePath() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(Path::of)
                .filter(entry -> ModuleFinder.of(entry).findAll().stream()
                        .anyMatch(module -> module.descriptor().name().startsWith("outbox.")
                                && !module.descriptor().isAutomatic()));
    }
}

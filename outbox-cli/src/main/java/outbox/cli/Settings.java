package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Function;

/**
 * The values of settings. A flag has precedence over the environment, the environment over the file, and the file
 * over the default. A blank value counts as absent. Problems are collected and reported together, each with the place
 * where the value was set. Used by one thread.
 */
final class Settings {

    /** A value and its origin. */
    private record Value(String text, String origin) {}

    private static final String DEFAULT = "the default";

    private final Map<Setting, Value> values = new EnumMap<>(Setting.class);
    private final List<String> problems = new ArrayList<>();

    Settings(Map<Setting, String> flags, Map<String, String> environment, @Nullable Path file) {
        Map<String, String> inFile = file == null ? Map.of() : read(file);
        for (Setting setting : Setting.values()) {
            setting.standard().ifPresent(text -> put(setting, text, DEFAULT));
            put(setting, inFile.get(setting.key()), setting.key() + " in " + file);
            put(setting, environment.get(setting.key()), setting.key());
            put(setting, flags.get(setting), setting.flag().orElse(setting.key()));
        }
    }

    private void put(Setting setting, @Nullable String text, String origin) {
        if (text != null && !text.isBlank()) {
            boolean isSecret = setting.flag().isEmpty(); // a secret may begin or end with a blank
            values.put(setting, new Value(isSecret ? text : text.strip(), origin));
        }
    }

    private static Map<String, String> read(Path file) {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new SettingsException("Cannot read the settings in " + file + ": " + e
                    + ". Name a properties file that this user may read, in UTF-8.");
        }
        List<String> unknown = properties.stringPropertyNames().stream()
                .filter(key -> Setting.of(key).isEmpty())
                .sorted()
                .toList();
        if (!unknown.isEmpty()) {
            throw new SettingsException(file + " has settings that are not known: " + String.join(", ", unknown)
                    + ". The names are those of the environment; see docs/reference/cli.md.");
        }
        Map<String, String> found = new HashMap<>();
        properties.stringPropertyNames().forEach(key -> found.put(key, properties.getProperty(key)));
        return found;
    }

    /** All values, by the names in the environment. */
    Map<String, String> texts() {
        Map<String, String> texts = new HashMap<>();
        values.forEach((setting, value) -> texts.put(setting.key(), value.text()));
        return texts;
    }

    Optional<String> text(Setting setting) {
        return Optional.ofNullable(values.get(setting)).map(Value::text);
    }

    /**
     * Reads a required value or its default. If the value is missing or the reader refuses it, a problem is recorded
     * and the method returns null; call {@link #check} afterwards.
     */
    <T> @Nullable T read(Setting setting, Function<String, T> reader) {
        Value value = values.get(setting);
        if (value == null) {
            problem(setting, "is missing: " + setting.meaning());
            return null;
        }
        try {
            return reader.apply(value.text());
        } catch (IllegalArgumentException e) {
            problems.add(value.origin() + ": " + e.getMessage());
            return null;
        }
    }

    /** Reads a value that may be absent. */
    <T> Optional<T> readOptional(Setting setting, Function<String, T> reader) {
        return values.containsKey(setting) ? Optional.ofNullable(read(setting, reader)) : Optional.empty();
    }

    /** A secret, given directly or in a file. Only the first line of the file is read. */
    Optional<String> secret(Setting direct, Setting file) {
        if (values.containsKey(direct) && values.containsKey(file)) {
            Value value = values.get(file);
            problems.add("Both " + direct.key() + " and " + (value == null ? file.key() : value.origin())
                    + " are given: keep one of them");
        }
        return text(direct).or(() -> readOptional(file, Settings::firstLine));
    }

    private static String firstLine(String name) {
        try {
            String text = Files.readString(Path.of(name));
            String line = text.lines().findFirst().orElse("");
            if (line.isEmpty()) {
                throw new IllegalArgumentException(name + " is empty: put the secret into its first line");
            }
            return line;
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "cannot read " + name + " (" + e + "): name a file that this user may read", e);
        }
    }

    /** The place where a setting was set, or how to set it. */
    String origin(Setting setting) {
        Value value = values.get(setting);
        return value == null ? setting.flag().map(flag -> flag + " or ").orElse("") + setting.key() : value.origin();
    }

    /** The limit of attempts from the settings, and whether the user set it. The caller has validated the number. */
    MaxAttempts maxAttempts(int number) {
        boolean isGiven = !origin(Setting.RELAY_MAX_ATTEMPTS).equals(DEFAULT);
        return new MaxAttempts(number, isGiven, origin(Setting.RELAY_MAX_ATTEMPTS));
    }

    /** Records a problem of the setting with this name in the environment. */
    void problem(String key, String what) {
        problems.add(Setting.of(key).map(this::origin).orElse(key) + ": " + what);
    }

    void problem(Setting setting, String what) {
        problems.add(origin(setting) + " " + what);
    }

    /** @throws SettingsException if there are problems */
    void check() {
        if (!problems.isEmpty()) {
            throw new SettingsException(problems);
        }
    }
}

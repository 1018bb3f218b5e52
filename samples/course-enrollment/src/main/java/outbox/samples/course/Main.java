package outbox.samples.course;

import java.util.List;

/** Starts the application; Ctrl-C ends it. */
public final class Main {

    private Main() {}

    public static void main(String[] args) throws Exception {
        List<String> arguments = List.of(args);
        if (arguments.contains("--help")) {
            System.out.println(Options.USAGE);
            return;
        }
        Options options;
        Course course;
        try {
            options = Options.parse(arguments);
            course = new Course(options, System.getenv());
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.exit(2);
            return;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(course::close, "course-close"));
        course.start();
        System.out.println("Events are in " + options.store() + ". Listening on http://127.0.0.1:" + course.port());
    }
}

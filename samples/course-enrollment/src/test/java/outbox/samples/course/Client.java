package outbox.samples.course;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** Uses the application as its users do. */
record Client(int port) {

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    HttpResponse<String> get(String path) {
        return send("GET", path, "");
    }

    HttpResponse<String> post(String path, String body) {
        return send("POST", path, body);
    }

    HttpResponse<String> send(String method, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(20))
                .method(method, BodyPublishers.ofString(body))
                .build();
        try {
            return HTTP.send(request, BodyHandlers.ofString());
        } catch (IOException e) {
            throw new IllegalStateException(method + " " + path, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    long openSession(int capacity) {
        HttpResponse<String> opened = post("/sessions", "{\"capacity\":" + capacity + ",\"fee\":10}");
        return Long.parseLong(opened.body().replaceAll(".*\"id\":([0-9]+).*", "$1"));
    }

    HttpResponse<String> enroll(long session, long learner) {
        return post("/sessions/" + session + "/enrollments", "{\"learnerId\":" + learner + "}");
    }

    /** Returns the counts of the tables, which would show a duplicate effect. */
    String show(long session) {
        return get("/sessions/" + session).body();
    }
}

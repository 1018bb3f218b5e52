package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

import java.net.URI;

/** Returns every error as a problem detail (RFC 9457). The base class does so for the errors of Spring itself. */
@RestControllerAdvice
class ApiErrors extends ResponseEntityExceptionHandler {

    private static final Logger LOG = LoggerFactory.getLogger(ApiErrors.class);

    @ExceptionHandler
    ProblemDetail notFound(NotFoundException e) {
        return problem(HttpStatus.NOT_FOUND, "not-found", "Not found", String.valueOf(e.getMessage()));
    }

    @ExceptionHandler
    ProblemDetail conflict(ConflictException e) {
        return problem(HttpStatus.CONFLICT, "conflict", "Not in the needed state", String.valueOf(e.getMessage()));
    }

    @ExceptionHandler
    ProblemDetail unexpected(Exception e) {
        LOG.error("A request failed", e);
        return ProblemDetail.forStatusAndDetail(HttpStatus.INTERNAL_SERVER_ERROR, "See the log of the server.");
    }

    @Override
    protected @Nullable ResponseEntity<Object> handleHttpMessageNotReadable(
            HttpMessageNotReadableException e, HttpHeaders headers, HttpStatusCode status, WebRequest request) {
        String needed = e.getRootCause() instanceof InvalidRequestException invalid
                ? "In the body, " + invalid.getMessage() + "."
                : "The body is not the JSON that /openapi.yaml describes.";
        ProblemDetail problem = problem(HttpStatus.BAD_REQUEST, "invalid", "Invalid request", needed);
        return handleExceptionInternal(e, problem, headers, status, request);
    }

    static ProblemDetail problem(HttpStatus status, String type, String title, String detail) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, detail);
        problem.setType(URI.create("urn:secondhand-market:" + type));
        problem.setTitle(title);
        return problem;
    }
}

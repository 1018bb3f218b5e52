package outbox.samples.spring;

import org.jspecify.annotations.Nullable;
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

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URI;

/** Answers every error as a problem detail (RFC 9457); the base class does so for the errors of Spring itself. */
@RestControllerAdvice
class ApiErrors extends ResponseEntityExceptionHandler {

    private static final Logger LOG = System.getLogger(ApiErrors.class.getName());

    @ExceptionHandler
    ProblemDetail paymentRefused(PaymentRefusedException e) {
        return problem(HttpStatus.UNPROCESSABLE_CONTENT, "payment-refused", "Payment refused", e);
    }

    @ExceptionHandler
    ProblemDetail orderNotFound(OrderNotFoundException e) {
        return problem(HttpStatus.NOT_FOUND, "order-not-found", "Order not found", e);
    }

    @ExceptionHandler
    ProblemDetail unexpected(Exception e) {
        LOG.log(Level.ERROR, "A request failed", e);
        return ProblemDetail.forStatusAndDetail(HttpStatus.INTERNAL_SERVER_ERROR, "See the log of the server.");
    }

    @Override
    protected @Nullable ResponseEntity<Object> handleHttpMessageNotReadable(
            HttpMessageNotReadableException e, HttpHeaders headers, HttpStatusCode status, WebRequest request) {
        ProblemDetail problem = problem(
                HttpStatus.BAD_REQUEST, "not-an-order", "Not an order", "Send " + NewOrder.EXAMPLE + " as JSON.");
        return handleExceptionInternal(e, problem, headers, status, request);
    }

    private static ProblemDetail problem(HttpStatus status, String type, String title, Exception e) {
        return problem(status, type, title, String.valueOf(e.getMessage()));
    }

    private static ProblemDetail problem(HttpStatus status, String type, String title, String detail) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, detail);
        problem.setType(URI.create("urn:outbox-demo:" + type));
        problem.setTitle(title);
        return problem;
    }
}

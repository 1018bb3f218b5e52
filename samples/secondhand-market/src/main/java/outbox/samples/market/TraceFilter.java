package outbox.samples.market;

import org.slf4j.MDC;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

import java.io.IOException;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

/**
 * Sets the trace of every request. Log lines, events and messages contain it, and the response returns it
 * to the caller.
 */
@Component
class TraceFilter extends OncePerRequestFilter {

    private static final String HEADER = "X-Trace-Id";

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        String trace = Trace.of(request.getHeader("traceparent"), request.getHeader(HEADER));
        response.setHeader(HEADER, trace);
        MDC.put(Trace.KEY, trace);
        try {
            chain.doFilter(request, response);
        } finally {
            MDC.remove(Trace.KEY);
        }
    }
}

package outbox.samples.market;

import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.cors.CorsUtils;
import org.springframework.web.filter.OncePerRequestFilter;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

/**
 * Refuses POST requests from pages of another origin. A browser sends such requests, although the page cannot read
 * the response.
 */
@Component
class OriginFilter extends OncePerRequestFilter {

    private static final String REFUSED = """
            {"type":"urn:secondhand-market:foreign-origin","title":"Foreign origin","status":403,\
            "detail":"Only pages of this server may change something."}\
            """;

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        if (request.getMethod().equals(HttpMethod.POST.name()) && CorsUtils.isCorsRequest(request)) {
            response.setStatus(HttpServletResponse.SC_FORBIDDEN);
            response.setContentType(MediaType.APPLICATION_PROBLEM_JSON_VALUE);
            // a writer would add a charset
            response.getOutputStream().write(REFUSED.getBytes(StandardCharsets.UTF_8));
            return;
        }
        chain.doFilter(request, response);
    }
}

package outbox.boot;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

import java.lang.management.ManagementFactory;

/** An application with only a database in memory. It prints the time since the start of the process. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class EmptyApplication {

    public static void main(String[] args) {
        SpringApplication application = new SpringApplication(EmptyApplication.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        try (ConfigurableApplicationContext context = application.run(args)) {
            long millis = ManagementFactory.getRuntimeMXBean().getUptime();
            System.out.println("started in " + millis + " ms with " + context.getBeanDefinitionCount() + " beans");
        }
    }
}

package outbox.spring.boot.autoconfigure;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import outbox.EventEnvelope;
import outbox.jackson.JacksonPayloadCodec;
import outbox.jackson3.Jackson3PayloadCodec;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;
import outbox.spring.PayloadTypesCustomizer;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

class OutboxPayloadAutoConfigurationTest {

    record Order(String orderId) {}

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(OutboxPayloadAutoConfiguration.class));

    @Test
    void the_applications_mapper_of_jackson_3_comes_first() {
        runner.withBean(
                        JsonMapper.class,
                        () -> JsonMapper.builder()
                                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                                .build())
                .withBean(ObjectMapper.class, ObjectMapper::new)
                .run(context -> {
                    PayloadCodec codec = context.getBean(PayloadCodec.class);
                    assertThat(codec).isInstanceOf(Jackson3PayloadCodec.class);
                    assertThat(codec.write(new Order("7"))).isEqualTo("{\"order_id\":\"7\"}");
                });
    }

    @Test
    void the_applications_mapper_of_jackson_2_comes_next() {
        runner.withBean(
                        ObjectMapper.class,
                        () -> new ObjectMapper()
                                .setPropertyNamingStrategy(
                                        com.fasterxml.jackson.databind.PropertyNamingStrategies.SNAKE_CASE))
                .run(context -> {
                    PayloadCodec codec = context.getBean(PayloadCodec.class);
                    assertThat(codec).isInstanceOf(JacksonPayloadCodec.class);
                    assertThat(codec.write(new Order("7"))).isEqualTo("{\"order_id\":\"7\"}");
                });
    }

    @Test
    void of_several_mappers_none_is_taken_unless_one_is_primary() {
        JsonMapper snake = JsonMapper.builder()
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .build();
        runner.withBean("one", JsonMapper.class, () -> snake)
                .withBean("other", JsonMapper.class, () -> snake)
                .run(context -> assertWrites(context, "{\"orderId\":\"7\"}"));
        runner.withBean("one", JsonMapper.class, () -> snake, definition -> definition.setPrimary(true))
                .withBean("other", JsonMapper.class, JsonMapper::new)
                .run(context -> assertWrites(context, "{\"order_id\":\"7\"}"));
        runner.withBean("one", ObjectMapper.class, ObjectMapper::new)
                .withBean("other", ObjectMapper.class, ObjectMapper::new)
                .run(context -> assertWrites(context, "{\"orderId\":\"7\"}"));
    }

    @Test
    void a_mapper_of_another_format_is_not_taken() {
        JsonFactory yaml = new JsonFactory() {
            @Override
            public String getFormatName() {
                return "YAML";
            }
        };
        runner.withBean(
                        ObjectMapper.class,
                        () -> new ObjectMapper(yaml)
                                .setPropertyNamingStrategy(
                                        com.fasterxml.jackson.databind.PropertyNamingStrategies.SNAKE_CASE))
                .run(context -> assertWrites(context, "{\"orderId\":\"7\"}"));
    }

    private static void assertWrites(ApplicationContext context, String json) {
        assertThat(context.getBean(PayloadCodec.class).write(new Order("7"))).isEqualTo(json);
    }

    @Test
    void without_a_mapper_there_is_one_of_the_library_that_is_there() {
        runner.run(context -> assertThat(context.getBean(PayloadCodec.class)).isInstanceOf(Jackson3PayloadCodec.class));
        runner.withClassLoader(new FilteredClassLoader("tools.jackson"))
                .run(context ->
                        assertThat(context.getBean(PayloadCodec.class)).isInstanceOf(JacksonPayloadCodec.class));
        runner.withClassLoader(new FilteredClassLoader("com.fasterxml.jackson.databind"))
                .run(context ->
                        assertThat(context.getBean(PayloadCodec.class)).isInstanceOf(Jackson3PayloadCodec.class));
    }

    @Test
    void without_any_json_library_there_is_no_codec() {
        runner.withClassLoader(new FilteredClassLoader("tools.jackson", "com.fasterxml.jackson"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(PayloadCodec.class)
                        .doesNotHaveBean(PayloadTypes.class));
    }

    @Test
    void the_applications_codec_takes_its_place() {
        PayloadCodec own = new Jackson3PayloadCodec();
        runner.withBean("own", PayloadCodec.class, () -> own)
                .run(context -> assertThat(context.getBean(PayloadCodec.class)).isSameAs(own));
    }

    @Test
    void customizers_register_types_and_upcasters() {
        runner.withBean(
                        PayloadTypesCustomizer.class,
                        () -> types -> types.type("placed", 2, Order.class)
                                .upcast("placed", 1, Map.class, old -> new Order("old")))
                .run(context -> {
                    PayloadTypes types = context.getBean(PayloadTypes.class);
                    assertThat(types.read(EventEnvelope.ofJson("placed", "{}"), Order.class))
                            .isEqualTo(new Order("old"));
                });
    }

    @Test
    void it_can_be_switched_off() {
        for (String property : new String[] {"outbox.enabled=false", "outbox.payload.enabled=false"}) {
            runner.withPropertyValues(property)
                    .run(context -> assertThat(context)
                            .doesNotHaveBean(PayloadCodec.class)
                            .doesNotHaveBean(PayloadTypes.class));
        }
    }
}

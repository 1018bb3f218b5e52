package outbox.samples.market;

/** The texts about events and messages that section 15 of the specification defines. */
final class Texts {

    static final String DUPLICATE = "事件已处理，忽略重复消息";
    static final String UNSUPPORTED_TYPE = "事件类型不支持";
    static final String SEND_FAILED = "消息发送失败";
    static final String CONSUME_FAILED = "消息消费失败";

    private Texts() {}
}

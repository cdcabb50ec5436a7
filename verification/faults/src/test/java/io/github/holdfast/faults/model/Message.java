package io.github.holdfast.faults.model;

/** A statement on its way whose sender does not wait for it any more. It is executed at any later step, or never. */
sealed interface Message permits Grant, Message.BeatStatement {

    Message later();

    /** A heartbeat. */
    record BeatStatement(int node, int version) implements Message {
        @Override
        public Message later() {
            return this;
        }
    }
}

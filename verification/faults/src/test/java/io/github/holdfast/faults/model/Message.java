package io.github.holdfast.faults.model;

/** A statement on its way whose sender does not wait for it any more. It is executed at any later step, or never. */
sealed interface Message permits Grant, Message.BeatStatement, Message.Commit, Message.GiveBack {

    Message later();

    /** A heartbeat. */
    record BeatStatement(int node, int version) implements Message {
        @Override
        public Message later() {
            return this;
        }
    }

    /**
     * A commit that has passed the guard, under a token that was given for a row with another. The row is locked until it has happened, or
     * will not.
     */
    record Commit(int token, int given, boolean isOvertaken) implements Message {
        @Override
        public Message later() {
            return this;
        }
    }

    /** The release of a row that was kept. */
    record GiveBack(int owner, int token) implements Message {
        @Override
        public Message later() {
            return this;
        }
    }
}

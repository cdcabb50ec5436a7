package example.leaderelection;

import io.github.holdfast.annotation.LeaderOnly;
import io.github.holdfast.event.LeadershipGrantedEvent;
import io.github.holdfast.event.LeadershipRevokedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** What the leader does. It prints it, for the operator. */
@Component
class Reports {

    static final String LEADS = "leads in term ";
    static final String WRITES = "writes a report";
    static final String REVOKED = "no longer leads: ";

    @EventListener
    void granted(LeadershipGrantedEvent event) {
        System.out.println(LEADS + event.leadership().term());
    }

    /** All nodes are scheduled, and only the leader writes. */
    @Scheduled(fixedDelay = 100)
    @LeaderOnly(ElectionNode.NAME)
    void write() {
        System.out.println(WRITES);
    }

    @EventListener
    void revoked(LeadershipRevokedEvent event) {
        System.out.println(REVOKED + event.cause());
    }
}

package io.github.holdfast.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What happened in a run, in the order of the monotonic clock. */
record History(List<Event> events) {

    /** Sorts the events of all workers. */
    History(List<Event> events) {
        this.events = events.stream()
                .sorted(Comparator.comparingLong(Event::nanos).thenComparing(Event::phase))
                .toList();
    }

    /** The beginnings with their ends, in the order of the beginnings. */
    List<Operation> operations() {
        Map<Long, Event> ends = new HashMap<>();
        for (Event event : events) {
            if (event.phase() != Phase.INVOKE && ends.put(event.operation(), event) != null) {
                throw new IllegalArgumentException("Ended twice: " + event.line());
            }
        }
        List<Operation> operations = new ArrayList<>();
        for (Event event : events) {
            if (event.phase() == Phase.INVOKE) {
                operations.add(new Operation(event, ends.remove(event.operation())));
            }
        }
        if (!ends.isEmpty()) {
            throw new IllegalArgumentException("Ended but never begun: " + ends.values());
        }
        return operations;
    }

    void write(Path file) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.write(file, events.stream().map(Event::line).toList());
    }

    static History read(Path file) throws IOException {
        return new History(Files.readAllLines(file).stream().map(Event::parse).toList());
    }
}

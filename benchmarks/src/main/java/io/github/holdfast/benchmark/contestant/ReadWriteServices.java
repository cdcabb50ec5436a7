package io.github.holdfast.benchmark.contestant;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * Several services that share one read/write lock, and the server that keeps it.
 *
 * @param label the names and versions of the library and of the server
 */
public record ReadWriteServices(String label, List<ReadWrite> services, AutoCloseable server) implements AutoCloseable {

    /**
     * Opens services on a running server.
     *
     * @param many the number of services
     */
    static ReadWriteServices on(AutoCloseable server, String label, int many, Callable<ReadWrite> service)
            throws Exception {
        ReadWriteServices opened = new ReadWriteServices(label, new ArrayList<>(), server);
        try {
            for (int number = 0; number < many; number++) {
                opened.services.add(service.call());
            }
            return opened;
        } catch (Exception e) {
            opened.close();
            throw e;
        }
    }

    @Override
    public void close() throws Exception {
        services.forEach(ReadWrite::close);
        server.close();
    }
}

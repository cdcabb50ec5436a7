package io.github.holdfast.service.fence;

import static org.springframework.transaction.TransactionDefinition.PROPAGATION_NOT_SUPPORTED;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_REQUIRED;
import static org.springframework.transaction.TransactionDefinition.PROPAGATION_REQUIRES_NEW;

/** A way to write and commit under a lock, which is lost between two writes. */
enum Commit {
    PLAIN {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.inside();
                trial.writeLoseWrite();
            }));
        }
    },
    REQUIRES_NEW {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.inside();
                trial.transaction(PROPAGATION_REQUIRES_NEW, trial::writeLoseWrite);
            }));
        }
    },
    NOT_SUPPORTED {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.inside();
                trial.write();
                trial.transaction(PROPAGATION_NOT_SUPPORTED, trial::lose);
                trial.write();
            }));
        }
    },
    HELD_BESIDE {
        @Override
        void run(Trial trial) throws Exception {
            trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.write();
                trial.transaction(PROPAGATION_NOT_SUPPORTED, trial::acquire);
                trial.lose();
                trial.write();
            });
        }
    },
    SECOND_MANAGER {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.inside();
                trial.writeLoseWrite();
                trial.otherTransaction(() -> {});
            }));
        }
    },
    OTHER_MANAGER {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.otherTransaction(() -> {
                trial.inside();
                trial.writeLoseWrite();
            }));
        }
    },
    ENTITY_TRANSACTION {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.entityTransaction(em -> {
                trial.inside();
                trial.writeLoseWrite();
                trial.guard(em);
            }));
        }
    },
    BY_HAND {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.inside();
                trial.writeLoseWrite();
                trial.victimOfWork().commit();
            }));
        }
    },
    DDL {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> trial.transaction(PROPAGATION_REQUIRED, () -> {
                trial.inside();
                trial.writeLoseWrite();
                Loss.execute(trial.victimOfWork(), Trial.DDL);
            }));
        }
    },
    RETRY {
        @Override
        void run(Trial trial) throws Exception {
            trial.hold(() -> {
                for (int attempt = 1; attempt <= 3; attempt++) {
                    try {
                        trial.transaction(PROPAGATION_REQUIRED, () -> {
                            trial.inside();
                            trial.writeLoseWrite();
                        });
                        return;
                    } catch (RuntimeException refused) {
                        trial.caught(refused);
                    }
                }
            });
        }
    };

    abstract void run(Trial trial) throws Exception;
}

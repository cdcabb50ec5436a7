package io.github.holdfast.service;

import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;

/** {@link LockServiceTest} in the modes of H2 that most other tests leave out. */
@OnEachDatabase({TestDatabase.H2_FILE, TestDatabase.H2_TCP})
class H2ModesTest extends LockServiceTest {}

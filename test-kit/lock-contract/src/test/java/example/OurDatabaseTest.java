package example;

import io.github.holdfast.contract.LockContract;

class OurDatabaseTest extends LockContract {}

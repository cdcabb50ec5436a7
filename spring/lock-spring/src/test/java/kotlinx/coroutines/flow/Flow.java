package kotlinx.coroutines.flow;

/** The name of the type in kotlinx-coroutines-core, without its methods. */
public interface Flow<T> {}

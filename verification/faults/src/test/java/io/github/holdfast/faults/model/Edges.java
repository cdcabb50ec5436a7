package io.github.holdfast.faults.model;

import java.util.Arrays;

/** Pairs of numbered states, in little memory. */
final class Edges {

    private int[] from = new int[1 << 16];
    private int[] to = new int[1 << 16];
    private int size;

    void add(int source, int target) {
        if (size == from.length) {
            from = Arrays.copyOf(from, size * 2);
            to = Arrays.copyOf(to, size * 2);
        }
        from[size] = source;
        to[size] = target;
        size++;
    }

    /** The source of the n-th edge. */
    int from(int n) {
        return from[n];
    }

    /** For each state those from which an edge leads there. */
    int[][] backwards(int states) {
        int[] counts = new int[states];
        for (int i = 0; i < size; i++) {
            counts[to[i]]++;
        }
        int[][] sources = new int[states][];
        for (int i = 0; i < states; i++) {
            sources[i] = new int[counts[i]];
        }
        for (int i = 0; i < size; i++) {
            counts[to[i]]--;
            sources[to[i]][counts[to[i]]] = from[i];
        }
        return sources;
    }
}

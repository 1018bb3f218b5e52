package outbox.testing.fault;

/** Searches for a byte sequence in a stream that arrives in chunks (Knuth-Morris-Pratt). For one thread only. */
final class MarkerSearch {
    private final byte[] marker;
    // by matched length: the length of the longest proper prefix that is also a suffix of the match
    private final int[] fallback;
    private int matched;

    MarkerSearch(byte[] marker) {
        if (marker.length == 0) {
            throw new IllegalArgumentException("An empty marker is everywhere");
        }
        this.marker = marker.clone();
        fallback = new int[marker.length + 1];
        for (int length = 2; length <= marker.length; length++) {
            fallback[length] = extend(fallback[length - 1], marker[length - 1]);
        }
    }

    /** Returns whether the marker ends in this chunk. The chunk continues the chunks of the previous calls. */
    boolean endsIn(byte[] bytes, int length) {
        for (int i = 0; i < length; i++) {
            matched = extend(matched, bytes[i]);
            if (matched == marker.length) {
                matched = fallback[matched];
                return true;
            }
        }
        return false;
    }

    private int extend(int length, byte next) {
        int shorter = length;
        while (shorter > 0 && marker[shorter] != next) {
            shorter = fallback[shorter];
        }
        return marker[shorter] == next ? shorter + 1 : 0;
    }
}

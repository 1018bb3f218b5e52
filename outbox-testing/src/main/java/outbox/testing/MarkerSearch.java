package outbox.testing;

/** Looks for a sequence of bytes in a stream that comes in pieces (Knuth, Morris and Pratt). One thread only. */
final class MarkerSearch {
    private final byte[] marker;
    private final int[] fallback; // per matched length, the longest shorter one that still matches
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

    /** Returns whether the marker ends in this piece, which follows the pieces of the calls before. */
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

package outbox.spring;

import java.util.Comparator;

/** A name pattern in which {@code *} matches any sequence of characters, including none. */
record NamePattern(String text) {

    /** Sorts the more specific pattern first. Returns 0 if neither is more specific. */
    static final Comparator<NamePattern> BY_SPECIFICITY =
            Comparator.comparing(NamePattern::hasStar).thenComparing(NamePattern::literals, Comparator.reverseOrder());

    private boolean hasStar() {
        return text.indexOf('*') >= 0;
    }

    private long literals() {
        return text.chars().filter(c -> c != '*').count();
    }

    /** Backtracks only to the last {@code *}: a later {@code *} can match everything that an earlier one could. */
    boolean fits(String name) {
        int at = 0;
        int star = -1;
        int resume = 0;
        int i = 0;
        while (i < name.length()) {
            if (at < text.length() && text.charAt(at) == '*') {
                star = at++;
                resume = i;
            } else if (at < text.length() && text.charAt(at) == name.charAt(i)) {
                at++;
                i++;
            } else if (star >= 0) {
                at = star + 1;
                i = ++resume;
            } else {
                return false;
            }
        }
        return text.substring(at).chars().allMatch(c -> c == '*');
    }

    /** Whether at least one name matches both patterns. */
    boolean overlaps(NamePattern other) {
        String one = text;
        String two = other.text;
        boolean[][] rest =
                new boolean[one.length() + 1][two.length() + 1]; // whether the remaining parts match a common name
        for (int i = one.length(); i >= 0; i--) {
            for (int j = two.length(); j >= 0; j--) {
                boolean starOne = i < one.length() && one.charAt(i) == '*';
                boolean starTwo = j < two.length() && two.charAt(j) == '*';
                boolean bothEnd = i == one.length() && j == two.length();
                boolean same = i < one.length() && j < two.length() && one.charAt(i) == two.charAt(j);
                rest[i][j] = bothEnd
                        || same && rest[i + 1][j + 1]
                        || starOne && (rest[i + 1][j] || j < two.length() && rest[i][j + 1])
                        || starTwo && (rest[i][j + 1] || i < one.length() && rest[i + 1][j]);
            }
        }
        return rest[0][0];
    }
}

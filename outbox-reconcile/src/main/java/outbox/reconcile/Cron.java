package outbox.reconcile;

import outbox.internal.EventRules;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;

/**
 * A cron expression in a time zone, with five fields, or with six fields that begin with the seconds. See
 * {@link Schedule#cron}.
 *
 * <p>The next time is computed on the wall clock of the zone, day by day, and then converted to an instant. In
 * spring, a time that the clock skips is moved to after the gap. In autumn, one hour occurs twice. As in cron, a job
 * with a fixed hour then runs once, and a job for every hour runs twice.
 */
final class Cron {

    private static final List<String> MONTHS =
            List.of("", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC");
    private static final List<String> DAYS = List.of("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT");
    // start of the longest interval without a 29 February
    private static final LocalDate SOME_DAY = LocalDate.of(2096, 3, 1);
    private static final int MAX_DAYS = 8 * 366; // until 2104
    // limit for times that are skipped because an hour occurs twice
    private static final int MAX_TIMES = 24 * 60 * 60;

    private final String text;
    private final ZoneId zone;
    private final BitSet seconds;
    private final BitSet minutes;
    private final BitSet hours;
    private final BitSet daysOfMonth;
    private final BitSet months;
    private final BitSet daysOfWeek;
    private final boolean everyHour;
    private final boolean eitherDay; // both the day of month and the day of week are restricted

    Cron(String expression, ZoneId zone) {
        String[] given = expression.strip().split("\\s+");
        if (given.length != 5 && given.length != 6) {
            throw refusal(
                    expression,
                    "it has " + (expression.isBlank() ? 0 : given.length)
                            + " fields, not 5: minute, hour, day of month, month, day of week; or 6, with the "
                            + "second first");
        }
        this.text = String.join(" ", given);
        this.zone = zone;
        boolean hasSeconds = given.length == 6;
        this.seconds = field("second", hasSeconds ? given[0] : "0", 0, 59, List.of());
        String[] fields = Arrays.copyOfRange(given, hasSeconds ? 1 : 0, given.length);
        this.minutes = field("minute", fields[0], 0, 59, List.of());
        this.hours = field("hour", fields[1], 0, 23, List.of());
        this.daysOfMonth = field("day of month", fields[2], 1, 31, List.of());
        this.months = field("month", fields[3], 1, 12, MONTHS);
        this.daysOfWeek = field("day of week", fields[4], 0, 7, DAYS);
        if (daysOfWeek.get(7)) {
            daysOfWeek.set(0); // 0 and 7 are both Sunday
        }
        this.everyHour = fields[1].startsWith("*");
        this.eitherDay = !fields[2].startsWith("*") && !fields[4].startsWith("*");
        nextDay(SOME_DAY);
    }

    private IllegalArgumentException refusal(String expression, String why) {
        return new IllegalArgumentException("Cron expression " + EventRules.show(expression) + " is wrong: " + why);
    }

    private BitSet field(String name, String field, int lowest, int highest, List<String> names) {
        BitSet values = new BitSet();
        for (String part : field.split(",", -1)) {
            String[] stepped = part.split("/", -1);
            String[] range = stepped[0].equals("*") ? new String[0] : stepped[0].split("-", -1);
            if (stepped.length > 2 || range.length > 2 || stepped.length == 2 && range.length == 1) {
                throw refusal(text, name + " " + EventRules.show(part) + " is no number, range, or either with a step");
            }
            int first = range.length == 0 ? lowest : number(name, range[0], lowest, highest, names);
            int last = switch (range.length) {
                case 0 -> highest;
                case 1 -> first;
                default -> number(name, range[1], lowest, highest, names);
            };
            int step = stepped.length == 1 ? 1 : number("step of " + name, stepped[1], 1, highest, List.of());
            if (last < first) {
                throw refusal(text, name + " " + EventRules.show(part) + " ends before it begins");
            }
            for (int value = first; value <= last; value += step) {
                values.set(value);
            }
        }
        return values;
    }

    private int number(String name, String value, int lowest, int highest, List<String> names) {
        int named = value.isEmpty() ? -1 : names.indexOf(value.toUpperCase(Locale.ROOT));
        if (named >= 0) {
            return named;
        }
        if (!value.matches("[0-9]{1,3}") || Integer.parseInt(value) < lowest || Integer.parseInt(value) > highest) {
            throw refusal(
                    text, name + " must be between " + lowest + " and " + highest + ", not " + EventRules.show(value));
        }
        return Integer.parseInt(value);
    }

    /** Returns the first matching instant after the given one. */
    Instant next(Instant after) {
        Instant found = nextByWallClock(after);
        ZoneOffsetTransition change = zone.getRules().nextTransition(after);
        if (!everyHour
                || change == null
                || !change.isOverlap()
                || !change.getInstant().isBefore(found)) {
            return found;
        }
        LocalDateTime before = change.getDateTimeAfter().minusSeconds(1);
        Instant again = ZonedDateTime.ofLocal(nextTime(before), zone, change.getOffsetAfter())
                .toInstant(); // in the second occurrence of the hour
        return again.isAfter(after) && again.isBefore(found) ? again : found;
    }

    private Instant nextByWallClock(Instant after) {
        LocalDateTime time = after.atZone(zone).toLocalDateTime().truncatedTo(ChronoUnit.SECONDS);
        for (int i = 0; i < MAX_TIMES; i++) {
            time = nextTime(time);
            // the earlier one if the time occurs twice
            ZonedDateTime moment = ZonedDateTime.ofLocal(time, zone, null);
            if (!moment.toInstant().isAfter(after) && everyHour) {
                moment = moment.withLaterOffsetAtOverlap();
            }
            if (moment.toInstant().isAfter(after)) {
                return moment.toInstant();
            }
        }
        throw new IllegalStateException("The clock of " + zone + " goes back by more than a day after " + after);
    }

    /** Returns the first matching wall-clock time after the given one. */
    private LocalDateTime nextTime(LocalDateTime after) {
        if (fits(after.toLocalDate())) {
            boolean thisHour = hours.get(after.getHour());
            int second = seconds.nextSetBit(after.getSecond() + 1);
            if (second >= 0 && thisHour && minutes.get(after.getMinute())) {
                return after.withSecond(second);
            }
            int minute = minutes.nextSetBit(after.getMinute() + 1);
            if (minute >= 0 && thisHour) {
                return after.withMinute(minute).withSecond(seconds.nextSetBit(0));
            }
            int hour = hours.nextSetBit(after.getHour() + 1);
            if (hour >= 0) {
                return after.with(firstOf(hour));
            }
        }
        return nextDay(after.toLocalDate()).atTime(firstOf(hours.nextSetBit(0)));
    }

    private LocalTime firstOf(int hour) {
        return LocalTime.of(hour, minutes.nextSetBit(0), seconds.nextSetBit(0));
    }

    private LocalDate nextDay(LocalDate after) {
        LocalDate day = after;
        for (int i = 0; i < MAX_DAYS; i++) {
            day = day.plusDays(1);
            if (fits(day)) {
                return day;
            }
        }
        throw refusal(text, "no day ever fits it");
    }

    private boolean fits(LocalDate day) {
        boolean ofMonth = daysOfMonth.get(day.getDayOfMonth());
        boolean ofWeek = daysOfWeek.get(day.getDayOfWeek().getValue() % 7);
        return months.get(day.getMonthValue()) && (eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek);
    }

    @Override
    public String toString() {
        return text + " " + zone;
    }
}

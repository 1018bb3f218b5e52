/**
 * Enrolment in courses. The transaction decides what must always hold, events cause the later effects, and
 * reconciliation writes lost events again.
 */
@NullMarked
package outbox.samples.course;

import org.jspecify.annotations.NullMarked;

/** Enrolment in courses: what must hold is decided in the transaction, what may follow later is an event, and what was lost is found again. */
@NullMarked
package outbox.samples.course;

import org.jspecify.annotations.NullMarked;

/** Rules for the structure of modules, shared by the tests of all modules. */
@NullMarked
package outbox.rules;

import org.jspecify.annotations.NullMarked;

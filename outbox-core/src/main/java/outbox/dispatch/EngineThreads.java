package outbox.dispatch;

import outbox.internal.Loop;
import outbox.internal.Scheduler;
import outbox.internal.Threads;

import java.util.concurrent.ThreadFactory;

/** Creates the threads of one dispatcher, with its name. */
record EngineThreads(String name, Scheduler scheduler) {

    /**
     * Creates a loop that is not started.
     *
     * @param what what the loop does, for messages
     * @param role the part of the thread's name that says the same
     */
    Loop loop(String what, String role, Loop.Step step) {
        return new Loop(what, scheduler, Threads.named(name, role), step);
    }

    ThreadFactory ofWorkers(boolean virtual) {
        return virtual ? Threads.virtual(name, "worker") : Threads.named(name, "worker");
    }
}

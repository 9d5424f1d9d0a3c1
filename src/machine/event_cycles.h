/*
 * event_cycles - which cycles an event counts: they differ by SMT and by frequency.
 */
#pragma once

enum event_cycles {
	EVENT_NO_CYCLES,
	EVENT_THREAD_CYCLES, /* of this hardware thread while it is not halted */
	EVENT_CORE_CYCLES,   /* of the core while any of its threads is not halted */
	EVENT_REF_CYCLES,    /* at a fixed rate while not halted: a clock, not work */
};

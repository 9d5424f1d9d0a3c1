/*
 * kernel_names - kernel functions whose samples mean something else than "this
 * function was slow". Compiler suffixes (.isra.0, .cold) do not matter.
 */
#pragma once

#include <stdbool.h>

/*
 * The function turns interrupts on again, so samples that waited for that are counted in it: the
 * time belongs to the code before it. For procedures whose code is not known (late_samples.h).
 */
bool kernel_name_is_late(const char *name);

/* The CPU waits for work in the function. */
bool kernel_name_is_idle(const char *name);

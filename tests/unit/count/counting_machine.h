/*
 * counting_machine - a machine with a PMU for tests of counting: its /sys in a folder, and the
 * replayed kernel.
 */
#pragma once

#include "count/kernel.h"
#include "support/replayed_kernel.h"
#include "unit/machine/tree.h"

#define COUNTING_PMU "sys/bus/event_source/devices/"

static const struct tree_file counting_intel[] = {
	{ COUNTING_PMU "cpu/type", "4" },
	{ COUNTING_PMU "cpu/format/event", "config:0-7" },
	{ COUNTING_PMU "cpu/format/umask", "config:8-15" },
	{ COUNTING_PMU "software/type", "1" },
	{ NULL, NULL },
};

static const struct tree_file counting_hybrid[] = {
	{ COUNTING_PMU "cpu_core/type", "4" },
	{ COUNTING_PMU "cpu_core/cpus", "0" },
	{ COUNTING_PMU "cpu_core/format/event", "config:0-7" },
	{ COUNTING_PMU "cpu_atom/type", "10" },
	{ COUNTING_PMU "cpu_atom/cpus", "0" },
	{ COUNTING_PMU "cpu_atom/format/event", "config:0-7" },
	{ COUNTING_PMU "software/type", "1" },
	{ NULL, NULL },
};

static const struct tree_file counting_no_pmu[] = {
	{ COUNTING_PMU "software/type", "1" },
	{ NULL, NULL },
};

/* Until counting_machine_end(); one at a time. */
static inline struct count_world counting_machine(struct tree *tree, const struct tree_file *files)
{
	replayed_begin();
	tree_make(tree, files);
	return (struct count_world){ .kernel = &count_kernel_replayed, .root = tree->path };
}

static inline void counting_machine_end(struct tree *tree)
{
	replayed_begin();
	tree_remove(tree);
}

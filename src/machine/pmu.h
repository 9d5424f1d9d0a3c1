/*
 * pmu - the kernel's performance monitoring units as
 * /sys/bus/event_source/devices describes them: number, fields of the config
 * words, events with names, CPUs. Files are untrusted text: whatever does not
 * parse is left out of the list and counted in `unreadable`.
 *
 * A list owns its text. After pmu_list_read() nothing changes it; threads may
 * share it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "machine/cpu_set.h"

struct error;
struct machine_root;

enum pmu_word { PMU_CONFIG, PMU_CONFIG1, PMU_CONFIG2, PMU_CONFIG3, PMU_WORDS };

/* One named field: which bits of which word; bit i of a value goes to the i-th bit of `mask`. */
struct pmu_format {
	const char *name;
	enum pmu_word word;
	uint64_t mask;
};

struct pmu_event {
	const char *name;
	const char *terms; /* "event=0x3c,umask=0x01" */
	const char *unit;  /* "Joules"; "" when there is none */
	double scale;	   /* of the count in that unit; 1 when there is none */
};

struct pmu_cap {
	const char *name;
	const char *value;
};

struct pmu {
	const char *name;
	uint32_t type; /* perf_event_attr.type */
	const struct pmu_format *formats;
	size_t format_count;
	const struct pmu_event *events;
	size_t event_count;
	const struct pmu_cap *caps;
	size_t cap_count;
	bool core;     /* counts for the CPU it is on: "cpu", "cpu_core", "armv8_*" */
	bool has_cpus; /* the files "cpus" or "cpumask" are there */
	bool uncore;   /* "cpumask": count system-wide on these CPUs only */
	struct cpu_set cpus;
};

struct pmu_list {
	struct arena arena;
	struct pmu *pmus; /* sorted by name */
	size_t count;
	size_t unreadable; /* files that made no sense */
};

/* 0; -ENOMEM, -EMFILE or -ENFILE when not all could be read for lack of these; or -ENOENT/-EACCES
 * when there is no such folder (the list is then empty and usable). */
int pmu_list_read(const struct machine_root *root, struct pmu_list *list, struct error *err);
/* The same, but 0 when there is no such folder: the kernel's own events remain. */
int pmu_list_read_if_any(const struct machine_root *root, struct pmu_list *list, struct error *err);
void pmu_list_release(struct pmu_list *list); /* also right for a zeroed one, and for CLEANUP() */

const struct pmu *pmu_find(const struct pmu_list *list, const char *name);
const struct pmu *pmu_find_type(const struct pmu_list *list, uint32_t type);
const struct pmu_event *pmu_find_event(const struct pmu *pmu, const char *name);
const struct pmu_format *pmu_find_format(const struct pmu *pmu, const char *name);
/* The value of a cap, or NULL. */
const char *pmu_cap(const struct pmu *pmu, const char *name);
/* The n-th core PMU or NULL; more than one on hybrid machines, none where there is no PMU. */
const struct pmu *pmu_core(const struct pmu_list *list, size_t n);

/* "config:0-7,21" or "config1:3". False when it is anything else; name is left alone. */
bool pmu_format_parse(const char *text, struct pmu_format *format);
/* Spreads `value` over the field's bits in words[PMU_WORDS]; false when it does not fit the field.
 */
bool pmu_format_apply(const struct pmu_format *format, uint64_t value, uint64_t *words);

/*
 * advice - turns facts about a machine into advice for somebody who wants to profile
 * it: a verdict, and one finding per fact with what it costs and the exact command that
 * cures it. It reads nothing but struct facts.
 *
 * The advice owns its text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "advice/machine_probe.h"
#include "advice/rights.h"
#include "advice/sample_cost.h"
#include "base/arena.h"
#include "confine/confinement.h"
#include "machine/cpu.h"
#include "machine/pmu.h"
#include "machine/probe.h"

struct facts {
	const struct cpu_info *cpu;
	const struct pmu_list *pmus;
	const struct rights *rights;
	const struct machine_probe *probe;
	const struct perf_features *features;
	const char *
		event; /* names that record takes by default: "{cycles,instructions}"; NULL: none */
	const char *event_refusal;		  /* why there is none */
	const struct confinement_layers *helpers; /* NULL: not tried */
	const struct sample_cost *cost;		  /* NULL: not measured */
	const char *cost_refusal;		  /* why not */
	const char *program;			  /* path of culprit itself, for setcap */
};

enum finding_state {
	FINDING_OK,
	FINDING_LIMIT,	 /* works, with less */
	FINDING_STOP,	 /* nothing can be recorded because of it */
	FINDING_UNKNOWN, /* cannot be found out here */
};

struct finding {
	const char *key; /* for JSON: "paranoid" */
	enum finding_state state;
	const char *what;  /* the fact: "perf_event_paranoid is 2" */
	const char *means; /* what the user loses by it; "" when nothing */
	const char *cure;  /* a command, or where to change it; "": none, or nothing to cure */
};

struct advice {
	struct arena arena;
	bool can_record;
	const char *verdict; /* one sentence */
	struct finding *findings;
	size_t count;
};

/* Fills *advice, which the caller releases. 0, or -ENOMEM and then it is released. */
int advice_give(const struct facts *facts, struct advice *advice);
void advice_release(struct advice *advice); /* also right for a zeroed one, and for CLEANUP() */
const char *finding_state_name(enum finding_state state); /* "ok", "limit", "stop", "unknown" */

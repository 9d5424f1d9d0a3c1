/*
 * flame_colour - what the colours of a flame graph stand for: a metric's fixed
 * scale, the class of a value on it, and the legend that says so in numbers and
 * words. The same value has the same class in every graph; flame_palette.h gives
 * each class its colour. Formulas and reasons: docs/methods.md, "Colours of flame
 * graphs". All functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/interval.h"
#include "base/span.h"

struct error;

enum flame_metric {
	FLAME_CPI,	/* cycles / instructions */
	FLAME_IPC,	/* instructions / cycles: IPC 0.5 has the colour of CPI 2 */
	FLAME_STALLS,	/* stalled cycles / cycles */
	FLAME_RETIRING, /* share of the issue slots that retired */
	FLAME_BACKEND,	/* share of the issue slots that waited for the backend */
	FLAME_RATIO,	/* EVENT / EVENT; has no scale of its own, see flame_scale_derive() */
	FLAME_DELTA,	/* after / before; written as a change in percent */
	FLAME_PACKAGE,	/* by image; no scale */
	FLAME_NONE,	/* one colour; no scale */
};

/*
 * The classes are numbered from the end where the processor works (or less is
 * used than before) to the end where it waits (or more is used), whatever way
 * the metric's numbers run: 0 and 10 are the values beyond the scale, 5 is the
 * middle within 5 %, and four steps lie on each side between.
 */
#define FLAME_CLASSES	   11
#define FLAME_CLASS_MIDDLE (FLAME_CLASSES / 2)
#define FLAME_CLASS_UNSURE FLAME_CLASSES       /* the interval is too wide to say */
#define FLAME_CLASS_ABSENT (FLAME_CLASSES + 1) /* the value is not known */

struct flame_scale {
	enum flame_metric metric;
	double low, middle, high; /* in the metric's own unit, low < middle < high; DELTA: of
				     after / before */
	bool derived;		  /* from this graph's own total: not the same elsewhere */
	bool has_scale;		  /* false: PACKAGE and NONE, and RATIO before it is derived */
};

/* "cpi", "ipc", "stalls", "retiring", "backend", "delta", "package", "none"; false for another
 * word. EVENT/EVENT is for flame_ratio_of() of flame_view.h. */
bool flame_metric_of(const char *name, enum flame_metric *metric);

/* The fixed scale of a metric. */
struct flame_scale flame_scale_of(enum flame_metric metric);
/* For EVENT/EVENT without --scale: a tenth and ten times the round number (1, 2 or 5 times a power
 * of ten) that is nearest to the whole graph's ratio. No scale when that ratio is 0 or not known.
 */
void flame_scale_derive(struct flame_scale *scale, double whole_ratio);
/* Reads `LO:MID:HI` into a scale whose metric is set; shares and changes are in percent, with or
 * without "%". Returns 0 or -EINVAL. */
int flame_scale_parse(struct flame_scale *scale, const char *text, struct error *err);

/*
 * The class of a value, FLAME_CLASS_UNSURE or FLAME_CLASS_ABSENT. `samples` are
 * the effective samples it rests on (the smaller of both events'); negative when
 * not known. Unsure: fewer than INTERVAL_FEW_SAMPLES, or an end of the interval
 * lies more than one and a half steps from the value; for DELTA when the interval
 * holds "no change" and reaches beyond the middle's class. A value without an
 * interval gets its class.
 */
int flame_class(const struct flame_scale *scale, struct estimate value, double samples);

/* The value between class `i` and the next in order of rising values, i = 0 .. FLAME_CLASSES - 2,
 * in the metric's own unit. */
double flame_scale_edge(const struct flame_scale *scale, int i);
/* The class of the i-th range in order of rising values. */
int flame_scale_range_class(const struct flame_scale *scale, int i);

#define FLAME_LEGEND_TEXT 64
struct flame_legend_entry {
	int class_number;
	char range[FLAME_LEGEND_TEXT]; /* "0.35 to 0.5", "<= 0.25", ">= 4", "about 1" */
	char tick[FLAME_LEGEND_TEXT];  /* without a unit: what stands at the right edge of its
					  swatch: "0.5"; "" for  the last and around the middle; the
					  middle's own: "1" */
};
/*
 * The whole legend: FLAME_CLASSES ranges in order of rising values, in words what
 * is counted and what the ends mean.
 */
struct flame_legend {
	struct flame_legend_entry entries[FLAME_CLASSES];
	int count;	  /* 0 without a scale */
	char title[160];  /* "CPI: cycles per instruction" */
	char low[80];	  /* "works: many instructions a cycle"; beside the first entry */
	char high[80];	  /* "waits: ..."; beside the last one */
	char unsure[160]; /* beside the hatched swatch; "" without a scale */
	char note[200];	  /* "scale 0.02:0.2:2 derived from this graph; ..." or "" */
};
/* `above` and `below` name the events of a RATIO, STALLS, DELTA (above alone), RETIRING or BACKEND;
 * may be absent. */
void flame_legend_init(struct flame_legend *legend, const struct flame_scale *scale,
		       struct span above, struct span below);
/* A value in the metric's own way: "1.83", "42.0 %", "-36.7 %". */
void flame_value_text(const struct flame_scale *scale, double value, char text[FLAME_LEGEND_TEXT]);

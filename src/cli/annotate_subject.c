#include "cli/annotate_subject.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/culprits/culprits.h"
#include "analyze/cycles/cycles_lines.h"

void annotate_subject_release(struct annotate_subject *subject)
{
	free(subject->lines);
	culprits_free(subject->culprits);
	procedure_cycles_free(subject->cycles);
	annotation_free(subject->annotation);
	*subject = (struct annotate_subject){ 0 };
}

static int add_cycles(struct annotate_subject *subject, size_t position, struct cycles *cycles,
		      struct error *err)
{
	int ret = cycles_of_procedure(cycles, position, &subject->cycles, &subject->no_cycles);
	if (ret == -ENOMEM) {
		*err = subject->no_cycles;
		return ret;
	}
	if (ret < 0) {
		subject->shown.no_cycles = subject->no_cycles.text;
		return 0;
	}
	if (cycles_charge_lines(subject->cycles, subject->annotation) < 0 ||
	    cycles_of_lines(subject->cycles, subject->annotation, &subject->lines) < 0)
		return error_set(err, -ENOMEM, "out of memory for source lines");
	const struct event_columns *columns = cycles_index(cycles)->columns;
	const struct culprit_events events = culprit_events_of(columns);
	return culprits_new(subject->cycles, columns, &events, &subject->culprits, err);
}

int annotate_subject_init(struct annotate_subject *subject, const struct annotate_index *index,
			  size_t position, const struct annotate_options *options,
			  struct cycles *cycles, struct error *err)
{
	*subject = (struct annotate_subject){ 0 };
	int ret = annotate(index, position, options, &subject->annotation, err);
	if (ret == 0 && cycles && !subject->annotation->no_code)
		ret = add_cycles(subject, position, cycles, err);
	if (ret < 0) {
		annotate_subject_release(subject);
		return ret;
	}
	subject->shown.annotation = subject->annotation;
	subject->shown.cycles = subject->cycles;
	subject->shown.culprits = subject->culprits;
	subject->shown.lines = subject->lines;
	return 0;
}

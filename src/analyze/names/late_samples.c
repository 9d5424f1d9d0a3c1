#include "analyze/names/late_samples.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/figures/event_column.h"
#include "analyze/names/kernel_names.h"
#include "analyze/names/profile_isa.h"
#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/number_map.h"
#include "isa/decode.h"
#include "isa/interrupts.h"

struct late_samples {
	const struct profile *profile;
	struct resolver *resolver;
	enum isa isa;
	struct decoder *decoder;      /* NULL: no code can be read */
	const struct procedure *last; /* looked at */
	struct span code;	      /* of the last; empty: not known */
	uint64_t first;
	uint8_t *marks;		/* isa/interrupts.h, of that code; NULL: not made yet */
	struct number_map made; /* marks, by where their code is in memory */
};

int late_samples_new(const struct profile *profile, struct resolver *resolver,
		     struct late_samples **out, struct error *err)
{
	CLEANUP(late_samples_freep) struct late_samples *late = calloc(1, sizeof(*late));
	if (!late)
		return error_set(err, -ENOMEM, "out of memory for late samples");
	late->profile = profile;
	late->resolver = resolver;
	late->isa = profile_isa(profile);
	if (late->isa != ISA_UNKNOWN) {
		int ret = decoder_new(late->isa, ISA_SYNTAX_ATT, &late->decoder, err);
		if (ret < 0 && ret != -ENOTSUP)
			return ret;
	}
	*out = late;
	late = NULL; /* the caller's from here on */
	return 0;
}

void late_samples_free(struct late_samples *late)
{
	if (!late)
		return;
	size_t position = 0;
	for (uint8_t *marks; (marks = number_map_next(&late->made, &position));)
		free(marks);
	number_map_release(&late->made);
	decoder_free(late->decoder);
	free(late);
}

void late_samples_freep(struct late_samples **late)
{
	late_samples_free(*late);
}

bool late_samples_can_be(const struct late_samples *late, const struct event_column *column)
{
	return column->clock == EVENT_CLOCK || late->isa == ISA_AARCH64;
}

static void take_code(struct late_samples *late, const struct procedure *procedure)
{
	late->last = procedure;
	late->code = late->decoder ? resolver_code(late->resolver, procedure, &late->first)
				   : (struct span){ NULL, 0 };
	late->marks = number_map_find(&late->made, (uintptr_t)late->code.data);
}

/* Whether pending interrupts come in at the address, which is in late->last. Marks are kept by
 * code: addresses come in no order of procedures. */
static bool is_arrival(struct late_samples *late, uint64_t vaddr)
{
	bool made = late->marks != NULL;
	bool arrive =
		interrupts_arrive_at(late->decoder, late->code, late->first, vaddr, &late->marks);
	if (!made && late->marks &&
	    number_map_put(&late->made, (uintptr_t)late->code.data, late->marks) < 0) {
		free(late->marks);
		late->marks = NULL;
	}
	return arrive;
}

bool late_samples_at(struct late_samples *late, const struct procedure *procedure, uint64_t vaddr)
{
	if (!procedure->image)
		return procedure->named && kernel_name_is_late(procedure->linkage);
	uint64_t kind = profile_image(late->profile, procedure->image).kind;
	if (kind != IMAGE_KERNEL && kind != IMAGE_MODULE)
		return false;
	if (procedure != late->last)
		take_code(late, procedure);
	if (late->code.size)
		return is_arrival(late, vaddr);
	return procedure->named && kernel_name_is_late(procedure->linkage);
}

#include "analyze/report/chosen_samples_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/procedure_match.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "machine/cpu_set.h"
#include "profile/context_patterns.h"

static bool image_matches(const char *pattern, const char *name, struct span build_id)
{
	if (pattern_matches(pattern, span_of_text(name)))
		return true;
	size_t size = strlen(pattern), length = strlen(name);
	if (length == size + 2 && name[0] == '[' && memcmp(name + 1, pattern, size) == 0)
		return true; /* "kernel" for "[kernel]" */
	if (size < 6 || size > 2 * build_id.size)
		return false;
	for (size_t i = 0; i < size; i++) {
		char digits[3];
		snprintf(digits, sizeof(digits), "%02x", ((const uint8_t *)build_id.data)[i / 2]);
		if (pattern[i] != digits[i % 2])
			return false;
	}
	return true;
}

/* ---- contexts */

typedef bool (*context_test)(const char *pattern, const struct profile_context *context);

static int keep_contexts(struct chosen_samples *selection, const struct report_patterns *patterns,
			 context_test test, const char *what, struct error *err)
{
	const struct profile *profile = selection->report->profile;
	size_t count = profile_table(profile, PROFILE_CONTEXT)->count;
	if (patterns->count == 0)
		return 0;
	selection->context_kept[0] = false;
	CLEANUP(free_pointer) bool *any = calloc(patterns->count, sizeof(*any));
	if (!any)
		return chosen_out_of_memory(err);
	for (size_t id = 1; id <= count; id++) {
		struct profile_context context = profile_context(profile, id);
		bool kept = false;
		for (size_t i = 0; i < patterns->count; i++)
			if (test(patterns->items[i], &context))
				kept = any[i] = true;
		selection->context_kept[id] &= kept;
	}
	for (size_t i = 0; i < patterns->count; i++)
		if (!any[i])
			return error_set(err, -ENOENT, "no %s '%s' in the profile", what,
					 patterns->items[i]);
	return 0;
}

static int keep_cpus(struct chosen_samples *selection, const char *text, struct error *err)
{
	const struct profile *profile = selection->report->profile;
	size_t count = profile_table(profile, PROFILE_CONTEXT)->count;
	if (!text)
		return 0;
	struct cpu_set cpus;
	int ret = cpu_set_parse(text, &cpus, err);
	if (ret < 0)
		return ret;
	selection->context_kept[0] = false;
	bool any = false, known = false;
	for (size_t id = 1; id <= count; id++) {
		uint64_t cpu = profile_context(profile, id).cpu;
		bool kept = cpu != OPTIONAL_ABSENT && cpu_set_has(&cpus, cpu - 1);
		known |= cpu != OPTIONAL_ABSENT;
		any |= kept;
		selection->context_kept[id] &= kept;
	}
	if (!known)
		return error_set(err, -ENODATA,
				 "the profile did not keep the CPU of its samples; 'culprit record "
				 "--per-cpu' keeps it");
	return any ? 0 : error_set(err, -ENOENT, "no samples of CPU %s in the profile", text);
}

int chosen_contexts(struct chosen_samples *selection, struct error *err)
{
	const struct report_options *options = &selection->report->options;
	size_t count = profile_table(selection->report->profile, PROFILE_CONTEXT)->count;
	selection->context_kept = malloc(count + 1);
	if (!selection->context_kept)
		return chosen_out_of_memory(err);
	memset(selection->context_kept, true, count + 1);
	int ret = keep_contexts(selection, &options->processes, context_is_process, "process", err);
	if (ret == 0)
		ret = keep_contexts(selection, &options->cgroups, context_is_in_cgroup, "cgroup",
				    err);
	if (ret == 0)
		ret = keep_contexts(selection, &options->services, context_is_in_service, "service",
				    err);
	if (ret == 0)
		ret = keep_contexts(selection, &options->containers, context_is_in_container,
				    "container", err);
	return ret < 0 ? ret : keep_cpus(selection, options->cpus, err);
}

/* ---- images */

int chosen_images(struct chosen_samples *selection, struct resolver *resolver, struct error *err)
{
	const struct profile *profile = selection->report->profile;
	const struct report_patterns *patterns = &selection->report->options.images;
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	selection->image_kept = malloc(count + 1);
	if (!selection->image_kept)
		return chosen_out_of_memory(err);
	memset(selection->image_kept, patterns->count == 0, count + 1);
	for (size_t i = 0; i < patterns->count; i++) {
		bool any = false;
		for (size_t id = 1; id <= count; id++)
			if (image_matches(patterns->items[i],
					  resolver_image(resolver, (uint32_t)id),
					  profile_image(profile, id).build_id))
				selection->image_kept[id] = any = true;
		if (!any)
			return error_set(err, -ENOENT, "no image '%s' in the profile",
					 patterns->items[i]);
	}
	return 0;
}

const uint32_t *chosen_samples_chain(const struct report *report, uint32_t place, size_t *count)
{
	if (report->options.inlined == REPORT_INLINED_APART)
		return places_chain(report->places, place, count);
	*count = 1;
	return places_outer(report->places, place);
}

/* Does any function at the place match? 1, 0 or -ENOMEM. */
static int place_matches(const struct report *report, struct procedure_match *match, uint32_t place)
{
	size_t count;
	const uint32_t *chain = chosen_samples_chain(report, place, &count);
	if (!chain)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int has = procedure_match_has(match, report->places, chain[i]);
		if (has)
			return has;
	}
	return 0;
}

enum node_state { NODE_FOCUSED = 1, NODE_IGNORED = 2 };

int chosen_state_at(const struct chosen_samples *selection, int above, uint32_t place)
{
	int state = above;
	if (selection->focus && !(state & NODE_FOCUSED)) {
		int ret = place_matches(selection->report, selection->focus, place);
		if (ret < 0)
			return ret;
		state |= ret ? NODE_FOCUSED : 0;
	}
	if (selection->ignore && !(state & NODE_IGNORED)) {
		int ret = place_matches(selection->report, selection->ignore, place);
		if (ret < 0)
			return ret;
		state |= ret ? NODE_IGNORED : 0;
	}
	return state;
}

bool chosen_state_is_kept(const struct chosen_samples *selection, int state)
{
	return (!selection->focus || (state & NODE_FOCUSED)) && !(state & NODE_IGNORED);
}

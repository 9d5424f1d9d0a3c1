/*
 * cells - prints the flat cells of a profile for scripts to compare with other
 * tools, one a line, tab-separated:
 *
 *	cell EVENT KIND IMAGE VADDR SAMPLES ESTIMATE FIRST LAST NAME COMM PID THREAD CPU CGROUP
 *	bill EVENT CPU ITEM AMOUNT
 *	edge EVENT ORIGIN COUNT FROM_KIND FROM_IMAGE FROM_VADDR FROM_FUNCTION
 *	     TO_KIND TO_IMAGE TO_VADDR TO_FUNCTION
 *	range EVENT ORIGIN COUNT KIND IMAGE FIRST LAST FUNCTION
 *	source START_NS DURATION_NS
 *
 * IMAGE is the build-id in hexadecimal, else the name, else the first path;
 * FIRST and LAST are the function's extent, or "-".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/profile_file.h"

static void print_text(struct span text)
{
	printf("%.*s", (int)text.size, text.data ? (const char *)text.data : "");
}

static void print_image(const struct profile *profile, uint64_t id)
{
	static const char *const kinds[] = { "none", "file", "kernel",	"module", "vdso",
					     "bpf",  "jit",  "unknown", "name" };
	if (!id) {
		printf("none\t");
		return;
	}
	struct profile_image image = profile_image(profile, id);
	struct span key = image.build_id.size ? image.build_id : image.hash;
	printf("%s\t", image.kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[image.kind] : "other");
	for (size_t i = 0; i < key.size; i++)
		printf("%02x", ((const uint8_t *)key.data)[i]);
	if (!key.size)
		print_text(image.name);
}

static void print_optional(uint64_t number)
{
	if (number)
		printf("\t%" PRIu64, number - 1);
	else
		printf("\t-");
}

static void print_context(const struct profile *profile, uint64_t id)
{
	struct profile_context context = { 0 };
	if (id)
		context = profile_context(profile, id);
	printf("\t");
	print_text(context.comm.data ? context.comm : (struct span){ "-", 1 });
	print_optional(context.pid);
	printf("\t");
	print_text(context.thread.data ? context.thread : (struct span){ "-", 1 });
	print_optional(context.cpu);
	printf("\t");
	print_text(context.cgroup.data ? context.cgroup : (struct span){ "-", 1 });
	printf("\n");
}

static void print_cells(const struct profile *profile, struct resolver *resolver)
{
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		struct cell cell = cell_of_values(table_values(flat, row));
		printf("cell\t");
		print_text(profile_event(profile, keys[FLAT_EVENT]).name);
		printf("\t");
		print_image(profile, keys[FLAT_IMAGE]);
		printf("\t%#" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t", keys[FLAT_VADDR], cell.samples,
		       cell.estimate);
		struct profile_frame frame = { FRAME_IP, (uint32_t)keys[FLAT_IMAGE],
					       keys[FLAT_VADDR], (uint32_t)keys[FLAT_NAME] };
		const struct place *place = resolver_place(resolver, &frame);
		if (place && place->procedure->extent_known)
			printf("%#" PRIx64 "\t%#" PRIx64, place->procedure->first,
			       place->procedure->last);
		else
			printf("-\t-");
		printf("\t%s", place ? place->procedure->name : "-");
		print_context(profile, keys[FLAT_CONTEXT]);
	}
}

static void print_edge_end(const struct profile *profile, struct resolver *resolver,
			   const uint64_t *keys)
{
	struct profile_frame frame = { FRAME_IP, (uint32_t)keys[0], keys[1], (uint32_t)keys[2] };
	const struct place *place = resolver_place(resolver, &frame);
	printf("\t");
	print_image(profile, frame.image);
	printf("\t%#" PRIx64 "\t%s", frame.vaddr, place ? place->procedure->name : "-");
}

static void print_edges(const struct profile *profile, struct resolver *resolver)
{
	const struct table *edges = profile_table(profile, PROFILE_EDGE);
	for (size_t row = 0; row < edges->count; row++) {
		const uint64_t *keys = table_keys(edges, row);
		printf("edge\t");
		print_text(profile_event(profile, keys[EDGE_EVENT]).name);
		printf("\t%" PRIu64 "\t%" PRIu64, keys[EDGE_ORIGIN], table_values(edges, row)[0]);
		print_edge_end(profile, resolver, keys + EDGE_FROM_IMAGE);
		print_edge_end(profile, resolver, keys + EDGE_TO_IMAGE);
		printf("\n");
	}
}

static void print_ranges(const struct profile *profile, struct resolver *resolver)
{
	const struct table *ranges = profile_table(profile, PROFILE_RANGE);
	for (size_t row = 0; row < ranges->count; row++) {
		const uint64_t *keys = table_keys(ranges, row);
		struct profile_frame frame = { .image = (uint32_t)keys[RANGE_IMAGE],
					       .vaddr = keys[RANGE_FIRST] };
		const struct place *place = resolver_place(resolver, &frame);
		printf("range\t");
		print_text(profile_event(profile, keys[RANGE_EVENT]).name);
		printf("\t%" PRIu64 "\t%" PRIu64 "\t", keys[RANGE_ORIGIN],
		       table_values(ranges, row)[0]);
		print_image(profile, keys[RANGE_IMAGE]);
		printf("\t0x%" PRIx64 "\t0x%" PRIx64 "\t%s\n", keys[RANGE_FIRST], keys[RANGE_LAST],
		       place ? place->procedure->name : "?");
	}
}

static void print_bill(const struct profile *profile)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		printf("bill\t");
		if (keys[BILL_EVENT])
			print_text(profile_event(profile, keys[BILL_EVENT]).name);
		else
			printf("-");
		if (keys[BILL_CPU])
			printf("\t%" PRIu64 "\t", keys[BILL_CPU] - 1);
		else
			printf("\t-\t");
		print_text(profile_bytes(profile, keys[BILL_ITEM]));
		printf("\t%" PRIu64 "\n", table_values(bill, row)[0]);
	}
}

static void print_sources(const struct profile *profile)
{
	for (size_t row = 0; row < profile_table(profile, PROFILE_SOURCE)->count; row++) {
		struct profile_source source = profile_source(profile, row);
		printf("source\t%" PRIu64 "\t%" PRIu64 "\n", source.start_ns, source.duration_ns);
	}
}

int main(int argc, char **argv)
{
	struct profile *profile = NULL;
	struct resolver *resolver = NULL;
	struct error err;
	if (argc != 2) {
		fprintf(stderr, "usage: cells PROFILE\n");
		return 2;
	}
	const struct resolver_options options = { 0 };
	if (profile_file_read(argv[1], &profile, NULL, &err) < 0 ||
	    resolver_new(profile, &options, &resolver, &err) < 0) {
		fprintf(stderr, "cells: %s\n", err.text);
		profile_free(profile);
		return 1;
	}
	print_cells(profile, resolver);
	print_edges(profile, resolver);
	print_ranges(profile, resolver);
	print_bill(profile);
	print_sources(profile);
	resolver_free(resolver);
	profile_free(profile);
	return 0;
}

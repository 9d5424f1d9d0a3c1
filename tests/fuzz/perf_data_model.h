/*
 * perf_data_model - a perf.data file taken apart for a mutator: attributes,
 * records and features, which can be put together again as a file or as a pipe,
 * in either byte order, laid out well or as no writer would.
 *
 * Taking apart believes sizes as far as they go and leaves out what does not fit.
 */
#pragma once

#include "mutator.h"

#define MODEL_ATTRS    32
#define MODEL_FEATURES 64
#define ATTR_BYTES     136

/* In the file's byte order, all of it. */
struct model_attr {
	uint8_t bytes[ATTR_BYTES];
	size_t size;
	struct span ids;
};

struct model_feature {
	unsigned bit;
	struct span bytes;
};

/* What a file is wrong about when it is put together. */
enum model_lie {
	LIE_NONE,
	LIE_ATTRS_BEHIND = 1, /* the attributes lie behind the records, as a copied file has them */
	LIE_ENDLESS = 2,      /* the size of the records is 0, as of a recording that was killed */
	LIE_OVERLAP = 4,      /* features lie over each other and over the records */
	LIE_FEATURE_WRAPS = 8, /* one feature's place passes 2^64 */
	LIE_SECTION = 16,      /* a number of the header is another */
	LIE_IDS_OVERLAP = 32,  /* all events have the same ids */
	LIE_CUT = 64,	       /* the end is missing */
};

struct model {
	bool big, pipe;
	unsigned lies;
	struct model_attr attrs[MODEL_ATTRS];
	size_t attr_count;
	struct pieces records;
	struct model_feature features[MODEL_FEATURES];
	size_t feature_count;
};

/* False: these bytes are no perf.data file, or no more than its header. */
bool model_take_apart(struct model *model, struct span file);
void model_put_together(struct model *model, struct random_state *random, struct buffer *out);

/* A number of `size` bytes in the model's byte order. */
uint64_t model_get(const struct model *model, const void *bytes, size_t size);
void model_put(const struct model *model, void *bytes, uint64_t value, size_t size);
uint32_t model_type(const struct model *model, struct span record);
/* A record of that type with room for `size` bytes behind its header; {NULL, 0}: there is no room.
 */
struct span model_record(const struct model *model, uint32_t type, uint16_t misc, const void *body,
			 size_t size);

/* The same file as a machine of the other byte order writes it. */
void model_swap(struct model *model);
/* The same as a pipe, or as a file. */
void model_turn(struct model *model);

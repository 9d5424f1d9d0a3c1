#include "support/exact_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/varint.h"
#include "support/allocated.h"

/*
 * A file is its unpacked size (8 bytes) and a zstd frame of numbers (varint.h), column by
 * column, which packs better. Effects that are equal are written once.
 */
#define MAGIC	       UINT64_C(0x3130746361786563) /* "cexact01" */
#define MOST_BYTES     (256u << 20)
#define PACKING_EFFORT 19

void exact_procedure_release(struct exact_procedure *procedure)
{
	flow_graph_release(&procedure->graph);
	free(procedure->blocks);
	free(procedure->instructions);
	free(procedure->effects);
	free(procedure->events);
	free(procedure->block_executions);
	free(procedure->edge_executions);
	*procedure = (struct exact_procedure){ 0 };
}

void exact_program_release(struct exact_program *program)
{
	for (uint32_t p = 0; p < program->count; p++)
		exact_procedure_release(&program->procedures[p]);
	free(program->procedures);
	*program = (struct exact_program){ 0 };
}

/* ---- effects as numbers */

enum {
	FLAG_KNOWN,
	FLAG_READS,
	FLAG_WRITES,
	FLAG_BREAKS,
	FLAG_MOVES,
	FLAG_READS_FLAGS,
	FLAG_WRITES_FLAGS,
	FLAG_MERGES_FLAGS
};

#define EFFECT_NUMBERS 11

static void effects_to_numbers(const struct instruction_effects *effects,
			       uint64_t out[EFFECT_NUMBERS])
{
	out[0] = (uint64_t)effects->known << FLAG_KNOWN |
		 (uint64_t)effects->reads_memory << FLAG_READS |
		 (uint64_t)effects->writes_memory << FLAG_WRITES |
		 (uint64_t)effects->breaks_dependency << FLAG_BREAKS |
		 (uint64_t)effects->conditional_move << FLAG_MOVES |
		 (uint64_t)effects->reads_flags << FLAG_READS_FLAGS |
		 (uint64_t)effects->writes_flags << FLAG_WRITES_FLAGS |
		 (uint64_t)effects->merges_flags << FLAG_MERGES_FLAGS;
	out[1] = effects->class;
	for (int i = 0; i < 2; i++) {
		out[2 + i] = effects->reads.bits[i];
		out[4 + i] = effects->writes.bits[i];
		out[6 + i] = effects->address.bits[i];
	}
	out[8] = effects->read_bytes;
	out[9] = effects->written_bytes;
	out[10] = effects->width_bits;
}

static void effects_of_numbers(const uint64_t in[EFFECT_NUMBERS], struct instruction_effects *out)
{
	*out = (struct instruction_effects){
		.known = in[0] >> FLAG_KNOWN & 1,
		.class = (enum latency_class)in[1],
		.reads = { { in[2], in[3] } },
		.writes = { { in[4], in[5] } },
		.address = { { in[6], in[7] } },
		.reads_memory = in[0] >> FLAG_READS & 1,
		.writes_memory = in[0] >> FLAG_WRITES & 1,
		.read_bytes = (uint16_t)in[8],
		.written_bytes = (uint16_t)in[9],
		.width_bits = (uint16_t)in[10],
		.breaks_dependency = in[0] >> FLAG_BREAKS & 1,
		.conditional_move = in[0] >> FLAG_MOVES & 1,
		.reads_flags = in[0] >> FLAG_READS_FLAGS & 1,
		.writes_flags = in[0] >> FLAG_WRITES_FLAGS & 1,
		.merges_flags = in[0] >> FLAG_MERGES_FLAGS & 1,
	};
}

/* ---- writing */

struct kinds {
	uint64_t (*list)[EFFECT_NUMBERS]; /* distinct effects */
	uint32_t count;
};

/* Linear in the kinds, of which there are a few thousand: only a tool writes files. */
static uint32_t kind_of(struct kinds *kinds, const struct instruction_effects *effects)
{
	uint64_t numbers[EFFECT_NUMBERS];
	effects_to_numbers(effects, numbers);
	for (uint32_t i = 0; i < kinds->count; i++)
		if (memcmp(kinds->list[i], numbers, sizeof(numbers)) == 0)
			return i;
	kinds->list = realloc(kinds->list, (kinds->count + 1) * sizeof(*kinds->list));
	if (!kinds->list)
		abort();
	memcpy(kinds->list[kinds->count], numbers, sizeof(numbers));
	return kinds->count++;
}

static void write_graph(const struct exact_procedure *procedure, struct buffer *out)
{
	const struct flow_graph *graph = &procedure->graph;
	buffer_append_varint(out, graph->block_count);
	buffer_append_varint(out, graph->edge_count);
	buffer_append_varint(out, graph->missing_edges);
	for (size_t i = 0; i < graph->edge_count; i++) /* outside, 2^32 - 1, becomes 0 */
		buffer_append_varint(out, (uint32_t)(graph->edges[i].from + 1));
	for (size_t i = 0; i < graph->edge_count; i++)
		buffer_append_varint(out, (uint32_t)(graph->edges[i].to + 1));
	for (size_t i = 0; i < graph->edge_count; i++)
		buffer_append_varint(out, graph->edges[i].kind);
	for (size_t i = 0; i < graph->edge_count; i++)
		buffer_append_varint(out, (uint64_t)procedure->edge_executions[i]);
	for (uint32_t i = 0; i < graph->block_count; i++)
		buffer_append_varint(out, procedure->blocks[i].end - procedure->blocks[i].first);
	for (uint32_t i = 0; i < graph->block_count; i++)
		buffer_append_varint(out, (uint64_t)procedure->block_executions[i]);
}

static void write_procedure(const struct exact_procedure *procedure, struct kinds *kinds,
			    struct buffer *out)
{
	buffer_append_varint(out, procedure->first);
	buffer_append_varint(out, procedure->instruction_count);
	write_graph(procedure, out);
	uint64_t vaddr = 0;
	for (uint32_t i = 0; i < procedure->instruction_count; i++) {
		buffer_append_varint(out, procedure->instructions[i].vaddr - vaddr); /* may wrap */
		vaddr = procedure->instructions[i].vaddr + procedure->instructions[i].length_bytes;
	}
	for (uint32_t i = 0; i < procedure->instruction_count; i++)
		buffer_append_varint(out, procedure->instructions[i].length_bytes);
	for (uint32_t i = 0; i < procedure->instruction_count; i++)
		buffer_append_varint(out, procedure->instructions[i].kind);
	for (uint32_t i = 0; i < procedure->instruction_count; i++)
		buffer_append_varint(out, kind_of(kinds, &procedure->effects[i]));
	for (int event = 0; event < EXACT_EVENTS; event++)
		for (uint32_t i = 0; i < procedure->instruction_count; i++)
			buffer_append_varint(out, procedure->events[i][event]);
}

void exact_program_write(const struct exact_program *program, struct buffer *out)
{
	struct buffer body = { 0 }, all = { 0 };
	struct kinds kinds = { 0 };
	for (uint32_t p = 0; p < program->count; p++)
		write_procedure(&program->procedures[p], &kinds, &body);
	buffer_append_u64(&all, MAGIC);
	buffer_append_varint(&all, (uint64_t)(program->executed_ratio * 1e6));
	buffer_append_varint(&all, (uint64_t)(program->cycles_ratio * 1e6));
	buffer_append_varint(&all, program->count);
	buffer_append_varint(&all, kinds.count);
	for (uint32_t i = 0; i < kinds.count; i++)
		for (int k = 0; k < EFFECT_NUMBERS; k++)
			buffer_append_varint(&all, kinds.list[i][k]);
	buffer_append(&all, body.data, body.size);

	buffer_append_u64(out, all.size);
	size_t room = ZSTD_compressBound(all.size), before = out->size;
	void *packed = buffer_extend(out, room);
	if (!packed || buffer_failed(&all) || buffer_failed(&body))
		abort();
	size_t size = ZSTD_compress(packed, room, all.data, all.size, PACKING_EFFORT);
	if (ZSTD_isError(size))
		abort();
	out->size = before + size;
	free(kinds.list);
	buffer_release(&all);
	buffer_release(&body);
}

/* ---- reading */

struct numbers {
	const uint8_t *at;
	size_t left;
	const char *name;
};

__attribute__((noreturn)) static void damaged(const char *name, const char *what)
{
	fprintf(stderr, "exact program '%s': %s\n", name, what);
	exit(1);
}

static uint64_t next(struct numbers *in)
{
	uint64_t value = 0;
	size_t used = varint_get(in->at, in->left, &value);
	if (used == 0)
		damaged(in->name, "ends inside a number");
	in->at += used;
	in->left -= used;
	return value;
}

/* A number of things of which each takes a byte at least. */
static uint32_t next_count(struct numbers *in)
{
	uint64_t count = next(in);
	if (count > in->left)
		damaged(in->name, "counts more than it holds");
	return (uint32_t)count;
}

static void read_graph(struct numbers *in, struct exact_procedure *out)
{
	uint32_t block_count = next_count(in), edge_count = next_count(in);
	flow_graph_init(&out->graph, block_count);
	out->graph.missing_edges = next(in) != 0;
	CLEANUP(free_pointer) uint32_t *ends = allocated(2 * (size_t)edge_count, sizeof(*ends));
	for (size_t i = 0; i < 2 * (size_t)edge_count; i++) {
		ends[i] = (uint32_t)next(in) - 1;
		if (ends[i] != FLOW_OUTSIDE && ends[i] >= block_count)
			damaged(in->name, "an edge leads nowhere");
	}
	for (uint32_t i = 0; i < edge_count; i++)
		if (flow_graph_add(&out->graph, ends[i], ends[edge_count + i],
				   (enum flow_edge_kind)next(in)) < 0)
			abort();
	if (flow_graph_settle(&out->graph) < 0)
		abort();
	if (out->graph.edge_count != edge_count)
		damaged(in->name, "its edges are not settled");
	out->edge_executions = allocated(edge_count, sizeof(double));
	out->block_executions = allocated(block_count, sizeof(double));
	out->blocks = allocated(block_count, sizeof(*out->blocks));
	for (uint32_t i = 0; i < edge_count; i++)
		out->edge_executions[i] = (double)next(in);
	uint32_t at = 0;
	for (uint32_t i = 0; i < block_count; i++) {
		uint64_t size = next(in);
		if (size > out->instruction_count - at)
			damaged(in->name, "a block has more instructions than its procedure");
		out->blocks[i] = (struct flow_range){ at, at + (uint32_t)size };
		at += (uint32_t)size;
	}
	for (uint32_t i = 0; i < block_count; i++)
		out->block_executions[i] = (double)next(in);
}

static void read_procedure(struct numbers *in, const struct instruction_effects *kinds,
			   uint32_t kind_count, struct exact_procedure *out)
{
	out->first = next(in);
	out->instruction_count = next_count(in);
	size_t count = out->instruction_count;
	read_graph(in, out);
	out->instructions = allocated(count, sizeof(*out->instructions));
	out->effects = allocated(count, sizeof(*out->effects));
	out->events = allocated(count, sizeof(*out->events));
	for (size_t i = 0; i < count; i++)
		out->instructions[i].vaddr = next(in);
	for (size_t i = 0; i < count; i++)
		out->instructions[i].length_bytes = (uint8_t)next(in);
	for (size_t i = 0; i < count; i++)
		out->instructions[i].kind = (uint8_t)next(in);
	for (size_t i = 1; i < count; i++)
		out->instructions[i].vaddr +=
			out->instructions[i - 1].vaddr + out->instructions[i - 1].length_bytes;
	for (size_t i = 0; i < count; i++) {
		uint64_t kind = next(in);
		if (kind >= kind_count)
			damaged(in->name, "an instruction is of no kind");
		out->effects[i] = kinds[kind];
	}
	for (int event = 0; event < EXACT_EVENTS; event++)
		for (size_t i = 0; i < count; i++)
			out->events[i][event] = next(in);
}

static void read_numbers(struct numbers *in, struct exact_program *out)
{
	if (in->left < 8 || memcmp(in->at, &(uint64_t){ MAGIC }, 8) != 0)
		damaged(in->name, "is none");
	in->at += 8;
	in->left -= 8;
	*out = (struct exact_program){ .executed_ratio = (double)next(in) / 1e6 };
	out->cycles_ratio = (double)next(in) / 1e6;
	uint32_t count = next_count(in), kind_count = next_count(in);
	CLEANUP(free_pointer)
	struct instruction_effects *kinds = allocated(kind_count, sizeof(*kinds));
	for (uint32_t i = 0; i < kind_count; i++) {
		uint64_t numbers[EFFECT_NUMBERS];
		for (int k = 0; k < EFFECT_NUMBERS; k++)
			numbers[k] = next(in);
		if (numbers[1] >= LATENCY_CLASSES)
			damaged(in->name, "an instruction is of an unknown class");
		effects_of_numbers(numbers, &kinds[i]);
	}
	out->procedures = allocated(count, sizeof(*out->procedures));
	for (; out->count < count; out->count++)
		read_procedure(in, kinds, kind_count, &out->procedures[out->count]);
}

void exact_program_read(const void *bytes, size_t size_bytes, const char *name,
			struct exact_program *out)
{
	uint64_t size = 0;
	if (size_bytes >= sizeof(size))
		memcpy(&size, bytes, sizeof(size));
	if (size == 0 || size > MOST_BYTES)
		damaged(name, "has no size");
	CLEANUP(free_pointer) uint8_t *all = allocated(size, 1);
	if (ZSTD_decompress(all, size, (const char *)bytes + sizeof(size),
			    size_bytes - sizeof(size)) != size)
		damaged(name, "cannot be unpacked");
	read_numbers(&(struct numbers){ all, size, name }, out);
}

void exact_program_read_file(const char *path, struct exact_program *out)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) < 0)
		damaged(path, "cannot be read");
	size_t size = (size_t)ftell(file);
	CLEANUP(free_pointer) char *bytes = allocated(size, 1);
	rewind(file);
	if (fread(bytes, 1, size, file) != size)
		damaged(path, "cannot be read");
	exact_program_read(bytes, size, path, out);
}

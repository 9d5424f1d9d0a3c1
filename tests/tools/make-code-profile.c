/*
 * make-code-profile - writes the profiles that the tests of annotate and export
 * read: code in the stash, samples at known addresses.
 *
 * usage: make-code-profile KIND FILE
 *
 * x86: procedures with and without code, names that look alike, a cold part,
 * inlined code, an address inside an instruction, two events, stacks.
 * x86-moved, x86-changed, x86-renamed: other builds of compute, its code at another
 * place, with other instructions, or under another name, and with other samples.
 * arm64: one function. large: one of 5000 instructions, each with samples.
 * copy: a copy loop on a Cortex-A53, with the samples of that in Figure 2 of Anderson et al.,
 * SOSP 1997, but for one load that issues alone here. copy-clocked: of cpu-clock instead of cycles.
 * copy-slower: it waits half as long again at the store that waits most.
 * counted: compute with samples of cycles and of instructions, both precise. clocked: of cpu-clock
 * instead of cycles. branched: with samples of cycles, interpreted for where branches went.
 * kernel: a procedure of the kernel that lets interrupts in.
 * claims: a library, and files of other users with its build-id or its name; claims-old: that
 * library as earlier versions knew it, by its build-id alone. claims-before: that library a day
 * earlier. loops: three loops after each other, the second of which has most samples.
 * hostile: counted, and one of every thing that has a name, with what $HOSTILE holds before
 * each name.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/profile_file.h"

static void must(int ret)
{
	if (ret < 0)
		abort();
}

struct maker {
	struct profile *profile;
	uint32_t clock, cycles; /* events */
	uint32_t context;
	const char *hostile; /* what names begin with, or NULL */
	struct arena names;
};

static struct span named(struct maker *maker, const char *name)
{
	if (!maker->hostile || !name)
		return span_of_text(name);
	const char *text = arena_printf(&maker->names, "%s%s", maker->hostile, name);
	must(text ? 0 : -1);
	return span_of_text(text);
}

static void add_events(struct maker *maker, const char *machine)
{
	const struct profile_event clock = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_FIXED,
					     .period = 1000000,
					     .skid = 2,
					     .sampled = 1 };
	const struct profile_event cycles = { .name = span_of_text("cycles:u"),
					      .unit = span_of_text("cycles"),
					      .policy = PERIOD_FIXED,
					      .period = 100000,
					      .skid = 0,
					      .sampled = 1 };
	const struct profile_context context = { .comm = span_of_text("program"),
						 .pid = optional_of(12) };
	const struct profile_source source = { .host = span_of_text("host"),
					       .machine = span_of_text(machine),
					       .start_ns = 4102444800000000000u,
					       .duration_ns = 1000000000 };
	must(profile_add_event(maker->profile, &clock, &maker->clock));
	must(profile_add_event(maker->profile, &cycles, &maker->cycles));
	must(profile_add_context(maker->profile, &context, &maker->context));
	must(profile_add_source(maker->profile, &source));
}

static uint32_t image(struct maker *maker, enum image_kind kind, const char *build_id,
		      const char *path, const char *name)
{
	const struct profile_image row = {
		.kind = kind,
		.space = kind == IMAGE_KERNEL ? SPACE_TEXT : SPACE_ELF,
		.build_id = span_of_text(build_id),
		.name = named(maker, name),
	};
	uint32_t id;
	must(profile_add_image(maker->profile, &row, &id));
	if (path)
		must(profile_add_path(maker->profile, id, named(maker, path)));
	return id;
}

static void put(struct maker *maker, uint32_t to, uint64_t kind, uint64_t first, uint64_t last,
		struct buffer *content)
{
	const struct record record = { kind, first, last, { content->data, content->size } };
	struct error err;
	if (stash_add(maker->profile, to, &record, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	buffer_release(content);
}

static void function(struct maker *maker, uint32_t to, uint64_t first, uint64_t last,
		     const char *name, uint64_t flags, uint64_t parent)
{
	struct buffer content = { 0 };
	const struct function_record row = { flags, parent, named(maker, name) };
	record_put_function(&content, first, &row);
	put(maker, to, RECORD_FUNCTION, first, last, &content);
}

static void code(struct maker *maker, uint32_t to, uint64_t first, const void *bytes, size_t size)
{
	struct buffer content = { 0 };
	record_put_code(&content, (struct span){ bytes, size });
	put(maker, to, RECORD_CODE, first, first + size - 1, &content);
}

static void sample(struct maker *maker, uint32_t event, uint32_t in, uint64_t vaddr,
		   uint64_t samples)
{
	uint64_t weight = event == maker->clock ? 1000000 : 100000;
	const struct cell cell = { samples, samples * weight,
				   (unsigned __int128)samples * weight * weight };
	const struct profile_frame leaf = { .image = in, .vaddr = vaddr };
	must(profile_add_flat(maker->profile, event, maker->context, &leaf, &cell));
}

/* clang-format off */
static const uint8_t compute_code[] = {
	0xf3, 0x0f, 0x1e, 0xfa,			    /* 1000 endbr64 */
	0x55,					    /* 1004 push %rbp */
	0x48, 0x89, 0xe5,			    /* 1005 mov %rsp,%rbp */
	0x31, 0xc0,				    /* 1008 xor %eax,%eax */
	0x03, 0x07,				    /* 100a add (%rdi),%eax */
	0x6b, 0xc0, 0x03,			    /* 100c imul $3,%eax,%eax */
	0x48, 0x8b, 0x0d, 0xea, 0x1f, 0x00, 0x00,   /* 100f mov 0x3000,%rcx */
	0x48, 0x83, 0xc7, 0x04,			    /* 1016 add $4,%rdi */
	0xe8, 0xe1, 0x00, 0x00, 0x00,		    /* 101a call 1100 */
	0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc1,	    /* 101f vpdpbusd %zmm1,%zmm0,%zmm0 */
	0xff, 0xce,				    /* 1025 dec %esi */
	0x75, 0xe1,				    /* 1027 jne 100a */
	0x85, 0xc0,				    /* 1029 test %eax,%eax */
	0x0f, 0x88, 0xcf, 0x01, 0x00, 0x00,	    /* 102b js 1200 */
	0x5d,					    /* 1031 pop %rbp */
	0xc3,					    /* 1032 ret */
};
/* clang-format on */

static void compute_lines(struct maker *maker, uint32_t program)
{
	struct buffer content = { 0 };
	struct lines_writer writer;
	/* absolute, as sources are looked for */
	const char *folder =
		maker->hostile ? arena_printf(&maker->names, "/%s", maker->hostile) : "";
	const struct span file =
		span_of_text(arena_printf(&maker->names, "%s/src/compute.c", folder));
	const struct span header =
		span_of_text(arena_printf(&maker->names, "%s/src/scale.h", folder));
	lines_writer_init(&writer, 0x1000);
	lines_writer_row(&writer, 0x1000, 0, file, 5);
	lines_writer_row(&writer, 0x1008, 0, file, 6);
	lines_writer_row(&writer, 0x100a, 0, file, 8);
	uint32_t scale = lines_writer_inline(
		&writer, 0, maker->hostile ? named(maker, "scale") : span_of_text("_Z5scalei"),
		file, 8);
	lines_writer_row(&writer, 0x100c, scale, header, 3);
	lines_writer_row(&writer, 0x100f, 0, file, 9);
	lines_writer_row(&writer, 0x1025, 0, file, 7);
	lines_writer_row(&writer, 0x1029, 0, file, 19);
	must(lines_writer_finish(&writer, &content));
	lines_writer_release(&writer);
	put(maker, program, RECORD_LINES, 0x1000, 0x1032, &content);
}

static void add_stack(struct maker *maker, uint32_t parent, uint32_t in, uint64_t vaddr,
		      uint64_t samples, uint32_t *node)
{
	const struct profile_frame frame = { .image = in, .vaddr = vaddr };
	const struct cell cell = { samples, samples * 1000000, samples * 1000000000000 };
	must(profile_add_node(maker->profile, parent, &frame, node));
	if (samples)
		must(profile_add_stack(maker->profile, maker->clock, maker->context, *node, &cell));
}

static void make_x86(struct maker *maker)
{
	add_events(maker, "x86_64");
	uint32_t program = image(maker, IMAGE_FILE, "\x12\x34\x56\x78", "/opt/no/program", NULL);
	uint32_t gone = image(maker, IMAGE_FILE, "\xaa\xbb", "/opt/no/libgone.so", NULL);
	uint32_t kernel = image(maker, IMAGE_KERNEL, "\xcc\xdd", NULL, NULL);
	function(maker, program, 0x1000, 0x1032, "compute", 0, 0);
	function(maker, program, 0x1100, 0x1100, "helper", 0, 0);
	function(maker, program, 0x1200, 0x1201, "compute.cold", FUNCTION_COLD, 0x1000);
	function(maker, program, 0x1300, 0x130f, "_ZN2ns4stepEi", 0, 0);
	function(maker, program, 0x1310, 0x131f, "_ZN2ns4stepEd", 0, 0);
	function(maker, kernel, 0x500, 0x5ff, "vfs_read", 0, 0);
	code(maker, program, 0x1000, compute_code, sizeof(compute_code));
	code(maker, program, 0x1100, "\xc3", 1);
	code(maker, program, 0x1200, "\x0f\x0b", 2);
	compute_lines(maker, program);

	sample(maker, maker->clock, program, 0x100a, 2);
	sample(maker, maker->clock, program, 0x100c, 40);
	sample(maker, maker->clock, program, 0x100f, 30);
	sample(maker, maker->clock, program, 0x1012, 3); /* inside */
	sample(maker, maker->clock, program, 0x1025, 24);
	sample(maker, maker->clock, program, 0x1032, 1);
	sample(maker, maker->cycles, program, 0x100c, 7);
	sample(maker, maker->cycles, program, 0x1016, 1);
	sample(maker, maker->clock, program, 0x1100, 5);
	sample(maker, maker->clock, program, 0x1200, 1);
	sample(maker, maker->clock, program, 0x1304, 6);
	sample(maker, maker->clock, program, 0x1314, 4);
	sample(maker, maker->clock, gone, 0x7000, 8);
	sample(maker, maker->clock, kernel, 0x510, 9);
	sample(maker, maker->clock, kernel, 0x520, 2);
	uint32_t root, middle, leaf;
	add_stack(maker, 0, program, 0x100c, 45, &root);
	add_stack(maker, root, program, 0x1304, 10, &middle);
	add_stack(maker, middle, kernel, 0x510, 11, &leaf);
}

/* clang-format off */
static const uint8_t changed_code[] = {
	0xf3, 0x0f, 0x1e, 0xfa,			    /* 2000 endbr64 */
	0x55,					    /* 2004 push %rbp */
	0x48, 0x89, 0xe5,			    /* 2005 mov %rsp,%rbp */
	0x31, 0xc0,				    /* 2008 xor %eax,%eax */
	0x03, 0x07,				    /* 200a add (%rdi),%eax */
	0x8d, 0x04, 0x40,			    /* 200c lea (%rax,%rax,2),%eax */
	0x48, 0x8b, 0x0d, 0xea, 0x2f, 0x00, 0x00,   /* 200f mov 0x5000,%rcx */
	0x0f, 0x18, 0x4f, 0x40,			    /* 2016 prefetcht0 0x40(%rdi) */
	0x48, 0x83, 0xc7, 0x04,			    /* 201a add $4,%rdi */
	0xe8, 0xdd, 0x00, 0x00, 0x00,		    /* 201e call 2100 */
	0xff, 0xce,				    /* 2023 dec %esi */
	0x75, 0xe3,				    /* 2025 jne 200a */
	0x85, 0xc0,				    /* 2027 test %eax,%eax */
	0x5d,					    /* 2029 pop %rbp */
	0xc3,					    /* 202a ret */
};
/* clang-format on */

/* Another build, at 0x2000; `bytes` are what has become of compute. */
static void make_other_build(struct maker *maker, const char *build_id, const char *name,
			     const uint8_t *bytes, size_t size, uint64_t slow)
{
	add_events(maker, "x86_64");
	uint32_t program = image(maker, IMAGE_FILE, build_id, "/opt/no/program", NULL);
	function(maker, program, 0x2000, 0x2000 + size - 1, name, 0, 0);
	function(maker, program, 0x2100, 0x2100, "helper", 0, 0);
	function(maker, program, 0x2200, 0x2201, "compute.cold", FUNCTION_COLD, 0x2000);
	code(maker, program, 0x2000, bytes, size);
	code(maker, program, 0x2100, "\xc3", 1);
	code(maker, program, 0x2200, "\x0f\x0b", 2);
	sample(maker, maker->clock, program, 0x200a, 3);
	sample(maker, maker->clock, program, 0x200c, 12);
	sample(maker, maker->clock, program, 0x200f, 33);
	sample(maker, maker->clock, program, slow, 60);
	sample(maker, maker->clock, program, 0x2100, 5);
}

static void make_moved(struct maker *maker, const char *name)
{
	uint8_t bytes[sizeof(compute_code)];
	memcpy(bytes, compute_code, sizeof(bytes));
	bytes[0x13] = 0x40; /* its data moved too: mov 0x4056,%rcx */
	make_other_build(maker, "\x87\x65\x43\x21", name, bytes, sizeof(bytes), 0x2025);
}

static void make_arm64(struct maker *maker)
{
	static const uint32_t words[] = {
		0xd503233f, /* paciasp */
		0xf9400000, /* ldr x0, [x0] */
		0xb8200020, /* ldadd: newer than the disassembler */
		0xb4ffffc0, /* cbz x0, 2004 */
		0x94000002, /* bl 2018 */
		0xd65f0bff, /* retaa */
	};
	add_events(maker, "aarch64");
	uint32_t program = image(maker, IMAGE_FILE, "\x21\x43", "/opt/no/program", NULL);
	function(maker, program, 0x2000, 0x2017, "turn", 0, 0);
	code(maker, program, 0x2000, words, sizeof(words));
	struct buffer callee = { 0 };
	record_put_callee(&callee, span_of_text("_ZN2ns5pauseEi@plt"));
	put(maker, program, RECORD_CALLEE, 0x2018, 0x2018, &callee);
	sample(maker, maker->clock, program, 0x2004, 3);
	sample(maker, maker->clock, program, 0x2008, 1);
	sample(maker, maker->clock, program, 0x200e, 1); /* inside */
}

static void add_source(struct maker *maker, const char *machine, const char *vendor,
		       const char *model)
{
	const struct profile_context context = { .comm = named(maker, "program"),
						 .pid = optional_of(12) };
	const struct profile_source source = { .host = named(maker, "host"),
					       .machine = span_of_text(machine),
					       .cpu_vendor = span_of_text(vendor),
					       .cpu_model = span_of_text(model),
					       .start_ns = 4102444800000000000u,
					       .duration_ns = 1000000000 };
	must(profile_add_context(maker->profile, &context, &maker->context));
	must(profile_add_source(maker->profile, &source));
}

static uint32_t precise_event(struct maker *maker, const char *name)
{
	/* estimates come from cycles, which are known by that name */
	const bool kept = strcmp(name, "cycles") == 0;
	const struct profile_event event = { .name = kept ? span_of_text(name) : named(maker, name),
					     .unit = span_of_text(name),
					     .policy = PERIOD_FIXED,
					     .period = 100000,
					     .precise = 2,
					     .skid = 1,
					     .sampled = 1 };
	uint32_t id;
	must(profile_add_event(maker->profile, &event, &id));
	return id;
}

static uint32_t precise_clock(struct maker *maker)
{
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_FIXED,
					     .period = 100000,
					     .skid = 1,
					     .sampled = 1 };
	uint32_t id;
	must(profile_add_event(maker->profile, &event, &id));
	return id;
}

#define WAITING_STORE 13 /* of the loop */

enum copied { COPIED, COPIED_CLOCKED, COPIED_SLOWER };

static void make_copy(struct maker *maker, enum copied how)
{
	static const struct {
		uint32_t word;
		uint64_t samples;
	} loop[] = {
		{ 0xd2800000, 3 },	/* 9800 mov x0, #0 */
		{ 0xb4000203, 0 },	/* 9804 cbz x3, 9844 */
		{ 0xd503201f, 0 },	/* 9808 nop */
		{ 0xd503201f, 0 },	/* 980c nop */
		{ 0xf9400024, 3126 },	/* 9810 ldr x4, [x1] */
		{ 0x91001000, 0 },	/* 9814 add x0, x0, #4 */
		{ 0xf9400425, 1636 },	/* 9818 ldr x5, [x1, #8] */
		{ 0xf9400826, 1511 },	/* 981c ldr x6, [x1, #16] */
		{ 0xf9400c27, 1482 },	/* 9820 ldr x7, [x1, #24] */
		{ 0x91008021, 0 },	/* 9824 add x1, x1, #32 */
		{ 0xf9000044, 27766 },	/* 9828 str x4, [x2] */
		{ 0xeb03001f, 0 },	/* 982c cmp x0, x3 */
		{ 0xf9000445, 1493 },	/* 9830 str x5, [x2, #8] */
		{ 0xf9000846, 174727 }, /* 9834 str x6, [x2, #16] */
		{ 0xf9000c47, 1548 },	/* 9838 str x7, [x2, #24] */
		{ 0x91008042, 0 },	/* 983c add x2, x2, #32 */
		{ 0x54fffe83, 1586 },	/* 9840 b.lo 9810 */
		{ 0xd65f03c0, 1 },	/* 9844 ret */
	};
	uint32_t words[sizeof(loop) / sizeof(loop[0])];
	add_source(maker, "aarch64", "Arm", "MIDR 0x410fd034");
	maker->cycles =
		how == COPIED_CLOCKED ? precise_clock(maker) : precise_event(maker, "cycles");
	uint32_t program = image(maker, IMAGE_FILE, "\x53\x53", "/opt/no/program", NULL);
	for (size_t i = 0; i < sizeof(loop) / sizeof(loop[0]); i++) {
		words[i] = loop[i].word;
		uint64_t samples = loop[i].samples;
		if (how == COPIED_SLOWER && i == WAITING_STORE)
			samples += samples / 2;
		if (samples)
			sample(maker, maker->cycles, program, 0x9800 + 4 * i, samples);
	}
	function(maker, program, 0x9800, 0x9800 + sizeof(words) - 1, "copy", 0, 0);
	code(maker, program, 0x9800, words, sizeof(words));
}

static void branch(struct maker *maker, uint32_t in, uint64_t from, uint64_t to, uint64_t count)
{
	const struct profile_frame source = { .image = in, .vaddr = from };
	const struct profile_frame target = { .image = in, .vaddr = to };
	must(profile_add_edge(maker->profile, maker->cycles, maker->context, ORIGIN_INTERPRETED,
			      &source, &target, count, 0));
}

enum counted { COUNTED_CYCLES, COUNTED_CLOCK, COUNTED_BRANCHES };

static void make_counted(struct maker *maker, enum counted kind)
{
	/* of compute: offset, samples of cycles, of instructions */
	static const uint16_t counts[][3] = {
		{ 0x00, 2, 9 },	    { 0x04, 1, 11 },	 { 0x05, 1, 8 },    { 0x08, 2, 12 },
		{ 0x0a, 310, 402 }, { 0x0c, 640, 388 },	 { 0x0f, 95, 405 }, { 0x16, 102, 397 },
		{ 0x1a, 120, 391 }, { 0x1f, 2900, 410 }, { 0x25, 98, 399 }, { 0x27, 230, 408 },
		{ 0x29, 1, 10 },    { 0x2b, 1, 12 },	 { 0x31, 3, 11 },   { 0x32, 2, 9 },
	};
	add_source(maker, "x86_64", "GenuineIntel", "06-55-04");
	maker->cycles =
		kind == COUNTED_CLOCK ? precise_clock(maker) : precise_event(maker, "cycles");
	uint32_t instructions = kind == COUNTED_BRANCHES ? 0 : precise_event(maker, "instructions");
	uint32_t program = image(maker, IMAGE_FILE, "\x12\x34\x56\x78", "/opt/no/program", NULL);
	function(maker, program, 0x1000, 0x1032, "compute", 0, 0);
	code(maker, program, 0x1000, compute_code, sizeof(compute_code));
	compute_lines(maker, program);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		sample(maker, maker->cycles, program, 0x1000u + counts[i][0], counts[i][1]);
		if (instructions)
			sample(maker, instructions, program, 0x1000u + counts[i][0], counts[i][2]);
	}
	if (kind != COUNTED_BRANCHES)
		return;
	branch(maker, program, 0x1027, 0x100a, 1560);
	branch(maker, program, 0x1027, 0x1029, 40);
	branch(maker, program, 0x102b, 0x1031, 40);
}

/* Three times: nine additions, a decrement and a jump back to the first of them. */
static void make_loops(struct maker *maker)
{
	static const uint8_t add[4] = { 0x48, 0x83, 0xc7, 0x04 };
	static const uint8_t again[4] = { 0xff, 0xce, 0x75, 256 - 40 };
	static const uint64_t samples[3] = { 10, 80, 40 };
	uint8_t bytes[3 * 40 + 1];
	add_events(maker, "x86_64");
	uint32_t program = image(maker, IMAGE_FILE, "\x41\x42", "/opt/no/program", NULL);
	for (size_t l = 0; l < 3; l++) {
		for (size_t i = 0; i < 9; i++) {
			memcpy(bytes + 40 * l + 4 * i, add, 4);
			sample(maker, maker->clock, program, 0x1000 + 40 * l + 4 * i,
			       samples[l] + i);
		}
		memcpy(bytes + 40 * l + 36, again, 4);
	}
	bytes[120] = 0xc3;
	function(maker, program, 0x1000, 0x1078, "loops", 0, 0);
	code(maker, program, 0x1000, bytes, sizeof(bytes));
}

static void make_kernel(struct maker *maker)
{
	/* 0 push %rbp; 1 sti; 2 nopl; 7 mov 8(%rbx),%rax; b pop %rbp; c ret */
	static const uint8_t bytes[] = { 0x55, 0xfb, 0x0f, 0x1f, 0x44, 0,   0,
					 0x48, 0x8b, 0x43, 0x08, 0x5d, 0xc3 };
	add_events(maker, "x86_64");
	uint32_t kernel = image(maker, IMAGE_KERNEL, "\x51\x52", NULL, "[kernel]");
	sample(maker, maker->clock, kernel, 0x1007, 36);
	sample(maker, maker->clock, kernel, 0x100b, 4);
	sample(maker, maker->cycles, kernel, 0x1007, 30);
	function(maker, kernel, 0x1000, 0x1000 + sizeof(bytes) - 1, "do_syscall_64", 0, 0);
	code(maker, kernel, 0x1000, bytes, sizeof(bytes));
}

#define LARGE_INSTRUCTIONS 5000

static void make_large(struct maker *maker)
{
	static uint8_t bytes[LARGE_INSTRUCTIONS * 4];
	struct buffer content = { 0 };
	struct lines_writer writer;
	add_events(maker, "x86_64");
	uint32_t program = image(maker, IMAGE_FILE, "\x31\x32", "/opt/no/program", NULL);
	lines_writer_init(&writer, 0x1000);
	for (size_t i = 0; i < LARGE_INSTRUCTIONS; i++) {
		static const uint8_t add[4] = { 0x48, 0x83, 0xc7, 0x04 };
		memcpy(bytes + i * 4, add, 4);
		sample(maker, maker->clock, program, 0x1000 + i * 4, 1 + i % 7);
		/* of what the compiler makes by itself, no line or not even a file is known */
		if (i % 3 == 0)
			lines_writer_row(&writer, 0x1000 + i * 4, 0,
					 span_of_text(i == 9 ? "" : "/src/large.c"),
					 i == 6 || i == 9 ? 0 : (uint32_t)(i % 97 + 1));
	}
	must(lines_writer_finish(&writer, &content));
	lines_writer_release(&writer);
	function(maker, program, 0x1000, 0x1000 + sizeof(bytes) - 1, "large", 0, 0);
	code(maker, program, 0x1000, bytes, sizeof(bytes));
	put(maker, program, RECORD_LINES, 0x1000, 0x1000 + sizeof(bytes) - 1, &content);
}

/* A sample of a function alone, below the stacks' root. */
static void add_named_image(struct maker *maker, enum image_kind kind, const char *build_id,
			    uint32_t root)
{
	uint32_t node;
	uint32_t id = image(maker, kind, build_id, kind == IMAGE_JIT ? NULL : "other", "other");
	if (kind != IMAGE_UNKNOWN)
		function(maker, id, 0x1000, 0x10ff, "other", 0, 0);
	sample(maker, maker->cycles, id, 0x1010, 40);
	add_stack(maker, root, id, 0x1010, 40, &node);
}

/* Who ran has every name that a context can have, the host every one that a source can have. */
static void make_hostile(struct maker *maker)
{
	maker->hostile = getenv("HOSTILE");
	must(maker->hostile ? 0 : -1);
	make_counted(maker, COUNTED_CYCLES);
	const struct profile_context context = { .comm = named(maker, "server"),
						 .cgroup = named(maker, "slice"),
						 .container = named(maker, "container"),
						 .thread = named(maker, "thread"),
						 .core_type = named(maker, "core"),
						 .labels = named(maker, "key=value"),
						 .pid = optional_of(13),
						 .tid = optional_of(14),
						 .cpu = optional_of(1) };
	const struct profile_source source = { .host = named(maker, "other"),
					       .boot_id = named(maker, "boot"),
					       .kernel = named(maker, "kernel"),
					       .machine = span_of_text("x86_64"),
					       .cpu_vendor = span_of_text("GenuineIntel"),
					       .cpu_model = span_of_text("06-55-04"),
					       .cpu_name = named(maker, "cpu"),
					       .microcode = named(maker, "microcode"),
					       .smt = named(maker, "smt"),
					       .governor = named(maker, "governor"),
					       .turbo = named(maker, "turbo"),
					       .frequency = named(maker, "frequency"),
					       .hypervisor = named(maker, "hypervisor"),
					       .clock = named(maker, "clock"),
					       .command = named(maker, "command"),
					       .tool = named(maker, "tool"),
					       .labels = named(maker, "key=value"),
					       .start_ns = 4102444800000000000u,
					       .duration_ns = 2000000000 };
	const struct profile_event event = { .name = named(maker, "event"),
					     .unit = named(maker, "unit"),
					     .pmu = named(maker, "pmu"),
					     .core_type = named(maker, "core"),
					     .leader = named(maker, "instructions") };
	static const enum image_kind kinds[] = {
		IMAGE_KERNEL, IMAGE_MODULE,  IMAGE_VDSO, IMAGE_BPF,
		IMAGE_JIT,    IMAGE_UNKNOWN, IMAGE_NAME, IMAGE_FILE
	};
	const struct cell read = { 0, 1000, 1000 };
	uint32_t root, read_along, known = image(maker, IMAGE_FILE, "\x12\x34\x56\x78", NULL, NULL);
	const struct profile_frame leaf = { .image = known, .vaddr = 0x1010 };
	/* by which exact counts know it */
	must(profile_add_path(maker->profile, known, span_of_text("/opt/no/program")));
	must(profile_add_context(maker->profile, &context, &maker->context));
	must(profile_add_source(maker->profile, &source));
	must(profile_add_event(maker->profile, &event, &read_along));
	must(profile_add_flat(maker->profile, read_along, maker->context, &leaf, &read));
	maker->clock = maker->cycles; /* that stacks are of */
	add_stack(maker, 0, known, 0x100c, 45, &root);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char id[] = { 0x77, (char)(i + 1), 0 };
		add_named_image(maker, kinds[i], id, root);
	}
	must(profile_add_bill(maker->profile, read_along, 0,
			      (const char *)named(maker, "item").data, 5));
}

struct claim {
	const char *hash, *path, *procedure;
	uint64_t writer, samples;
};

static void make_claims(struct maker *maker, const struct claim *claims, size_t count)
{
	add_events(maker, "x86_64");
	for (size_t i = 0; i < count; i++) {
		const struct profile_image row = { .kind = IMAGE_FILE,
						   .space = SPACE_ELF,
						   .build_id = span_of_text("\x12\x34\x56\x78"),
						   .hash = span_of_text(claims[i].hash),
						   .writer = claims[i].writer };
		uint32_t id;
		must(profile_add_image(maker->profile, &row, &id));
		must(profile_add_path(maker->profile, id, span_of_text(claims[i].path)));
		function(maker, id, 0x1000, 0x10ff, claims[i].procedure, 0, 0);
		sample(maker, maker->clock, id, 0x1010, claims[i].samples);
	}
}

static const struct claim claims[] = {
	{ "\xaa\x01-of-the-system", "/usr/lib/libwork.so", "work", 0, 10 },
	{ "\xbb\x02-of-a-stranger", "/home/m/libwork.so", "work_hard", 0x1000003e8, 30 },
	{ "\xcc\x03-of-all-of-you", "/tmp/tool", "work", 0x300000000, 2 },
	{ "\xdd\x04-from-a-mount.", "/mnt/tool", "work", 0x400000000, 1 },
};
static const struct claim old_claim = { NULL, "/usr/lib/libwork.so", "work", 0, 12 };

int main(int argc, char **argv)
{
	struct maker maker = { .profile = profile_new() };
	struct error err;
	if (argc != 3 || !maker.profile)
		return 2;
	if (strcmp(argv[1], "x86") == 0)
		make_x86(&maker);
	else if (strcmp(argv[1], "x86-moved") == 0)
		make_moved(&maker, "compute");
	else if (strcmp(argv[1], "x86-renamed") == 0)
		make_moved(&maker, "calculate");
	else if (strcmp(argv[1], "x86-changed") == 0)
		make_other_build(&maker, "\x99\x99\x43\x21", "compute", changed_code,
				 sizeof(changed_code), 0x201a);
	else if (strcmp(argv[1], "arm64") == 0)
		make_arm64(&maker);
	else if (strcmp(argv[1], "kernel") == 0)
		make_kernel(&maker);
	else if (strcmp(argv[1], "large") == 0)
		make_large(&maker);
	else if (strcmp(argv[1], "copy") == 0)
		make_copy(&maker, COPIED);
	else if (strcmp(argv[1], "copy-clocked") == 0)
		make_copy(&maker, COPIED_CLOCKED);
	else if (strcmp(argv[1], "copy-slower") == 0)
		make_copy(&maker, COPIED_SLOWER);
	else if (strcmp(argv[1], "counted") == 0)
		make_counted(&maker, COUNTED_CYCLES);
	else if (strcmp(argv[1], "clocked") == 0)
		make_counted(&maker, COUNTED_CLOCK);
	else if (strcmp(argv[1], "branched") == 0)
		make_counted(&maker, COUNTED_BRANCHES);
	else if (strcmp(argv[1], "loops") == 0)
		make_loops(&maker);
	else if (strcmp(argv[1], "hostile") == 0)
		make_hostile(&maker);

	else if (strcmp(argv[1], "claims") == 0)
		make_claims(&maker, claims, sizeof(claims) / sizeof(claims[0]));
	else if (strcmp(argv[1], "claims-before") == 0)
		make_claims(&maker, claims, 1);
	else if (strcmp(argv[1], "claims-old") == 0)
		make_claims(&maker, &old_claim, 1);
	else
		return 2;
	if (profile_file_write(argv[2], maker.profile, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	profile_free(maker.profile);
	arena_release(&maker.names);
	return 0;
}

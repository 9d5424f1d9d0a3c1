/*
 * make-costly-file - small files that cost a reader much more than they are large:
 * what the budget of a reader (base/budget.h) is for.
 *
 * usage: make-costly-file KIND N FILE [EXECUTABLE]
 *
 * pprof: a packed profile, one sample of N locations with 64 inlined functions each.
 * pprof-again: a packed one, N samples of one stack of 16,000 frames.
 *
 * folded: a packed folded text of one stack, N frames deep.
 * folded-names: a packed one, of N stacks, each of which is the one before and a letter.
 * folded-long: a packed one, in which one name is N letters long.
 * folded-brackets: a packed one of eight names of 250,000 bytes, with N brackets that close late.
 *
 * perf-data: compressed records; N processes, each with an image of its own and the same call
 * chain of 8000 addresses.
 *
 * code: a profile of culprit, in which one procedure has N instructions.
 * runs: one of N procedures of eight bytes, and N runs between branches, over all of these.
 * ladders: one of N procedures, each of 300 jumps back and forth: 150 loops in one another.
 * ladder: one of 4 procedures, likewise with N jumps.
 *
 * speedscope: JSON of one call stack, N calls deep, each of which takes time itself.
 *
 * numbers: callgrind's text with N functions, whose numbers share one place in a table that hashes
 * by splitmix64 without a seed.
 * events: packed perf script's text of N events that share all but what follows the colon.
 * images: perf.data of N files that are mapped, with a sample in each.
 * spellings: a packed pprof profile with N mappings, each of which spells the path of EXECUTABLE in
 * another way, and a sample in each.
 * builds: a profile of culprit with N images of one build-id, which differ in their content.
 * sources: one of a procedure of N instructions, each of a source file of its own.
 * cpu-names: a CPU profile of gperftools, in which N frames ask for a line of N names.
 * cpu-variables: one with N variables, and N mappings whose path begins with none of them.
 * mappings: perf.data; a process maps N pages from high to low, then come 3 N children of it, each
 * of which maps one more.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/small_file.h"
#include "image/elf_file.h"
#include "image/identity.h"
#include "import/perf_data/perf_data_types.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/profile_file.h"
#include "support/perf_file.h"

#define CHAIN_FRAMES 8000u
#define INLINED	     64u

static void must(bool fine)
{
	if (!fine)
		abort();
}

static void write_file(const char *path, const struct buffer *bytes)
{
	FILE *file = fopen(path, "wb");
	must(file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size);
	must(fclose(file) == 0);
}

static void write_packed(const char *path, const struct buffer *bytes)
{
	gzFile file = gzopen(path, "wb9");
	must(file && bytes->size < UINT32_MAX / 2);
	must(gzwrite(file, bytes->data, (unsigned int)bytes->size) == (int)bytes->size);
	must(gzclose(file) == Z_OK);
}

/* ---- pprof */

static void put_number(struct buffer *out, unsigned int field, uint64_t value)
{
	buffer_append_varint(out, (uint64_t)field << 3);
	buffer_append_varint(out, value);
}

static void put_message(struct buffer *out, unsigned int field, struct buffer *message)
{
	buffer_append_varint(out, (uint64_t)field << 3 | 2);
	buffer_append_varint(out, message->size);
	buffer_append(out, message->data, message->size);
	buffer_release(message);
}

static void put_text(struct buffer *out, const char *text)
{
	struct buffer message = { 0 };
	buffer_append_text(&message, text);
	put_message(out, 6, &message);
}

static void put_type(struct buffer *out)
{
	struct buffer message = { 0 };
	put_number(&message, 1, 1);
	put_number(&message, 2, 2);
	put_message(out, 1, &message);
	put_text(out, "");
	put_text(out, "cpu");
	put_text(out, "nanoseconds");
	put_text(out, "f");
}

/* A function and a location with `lines` of it. */
static void put_location(struct buffer *out, uint64_t id, unsigned int lines)
{
	struct buffer message = { 0 };
	put_number(&message, 1, id);
	for (unsigned int i = 0; i < lines; i++) {
		struct buffer line = { 0 };
		put_number(&line, 1, 1);
		put_number(&line, 2, i + 1);
		put_message(&message, 4, &line);
	}
	put_message(out, 4, &message);
}

static void put_function(struct buffer *out)
{
	struct buffer message = { 0 };
	put_number(&message, 1, 1);
	put_number(&message, 2, 3);
	put_message(out, 5, &message);
}

static void make_pprof(uint64_t count, const char *path)
{
	struct buffer out = { 0 }, sample = { 0 }, ids = { 0 };
	put_type(&out);
	put_function(&out);
	put_location(&out, 1, INLINED);
	for (uint64_t i = 0; i < count; i++)
		buffer_append_u8(&ids, 1);
	put_message(&sample, 1, &ids);
	buffer_append(&sample, "\x12\x01\x01", 3); /* one value: 1 */
	put_message(&out, 2, &sample);
	write_packed(path, &out);
	buffer_release(&out);
}

/* Samples of one stack, which is told in 250 bytes and has 16,000 frames. */
static void make_again(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	put_type(&out);
	put_function(&out);
	put_location(&out, 1, INLINED);
	for (uint64_t i = 0; i < count; i++) {
		struct buffer sample = { 0 }, ids = { 0 };
		for (int k = 0; k < 250; k++)
			buffer_append_u8(&ids, 1);
		put_message(&sample, 1, &ids);
		buffer_append(&sample, "\x12\x01\x01", 3);
		put_message(&out, 2, &sample);
	}
	write_packed(path, &out);
	buffer_release(&out);
}

/* What splitmix64's finaliser makes `hash` of. */
static uint64_t unhash(uint64_t hash)
{
	hash ^= hash >> 31 ^ hash >> 62;
	hash *= UINT64_C(0x319642b2d24d8ec3);
	hash ^= hash >> 27 ^ hash >> 54;
	hash *= UINT64_C(0x96de1b173f119089);
	return hash ^ hash >> 30 ^ hash >> 60;
}

static void make_numbers(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	buffer_append_text(&out, "# callgrind format\nevents: Ir\n");
	for (uint64_t i = 1; i <= count; i++)
		buffer_printf(&out, "fn=(%" PRIu64 ") f\n1 1\n", unhash(i << 40));
	write_file(path, &out);
	buffer_release(&out);
}

/* ---- texts */

/* What tells the format before anything that is odd. */
static void begin_folded(struct buffer *out)
{
	for (int i = 0; i < 10000; i++)
		buffer_append_text(out, "a;b 1\n");
}

static void make_folded(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	begin_folded(&out);
	for (uint64_t i = 0; i < count; i++)
		buffer_append_text(&out, i ? ";a" : "a");
	buffer_append_text(&out, " 1\n");
	write_packed(path, &out);
	buffer_release(&out);
}

static void make_names(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	for (uint64_t i = 0; i < count; i++) {
		buffer_append_text(&out, "m;");
		for (uint64_t k = 0; k <= i; k++)
			buffer_append_u8(&out, 'a');
		buffer_append_text(&out, " 1\n");
	}
	write_packed(path, &out);
	buffer_release(&out);
}

static void make_long_name(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	buffer_append_text(&out, "main;");
	for (uint64_t i = 0; i < count; i++)
		buffer_append_u8(&out, 'a');
	buffer_append_text(&out, " 1\n");
	write_packed(path, &out);
	buffer_release(&out);
}

static void make_brackets(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	begin_folded(&out);
	for (int i = 0; i < 8; i++) {
		buffer_printf(&out, "main;<%d", i);
		for (uint64_t k = 1; k < 250000; k++)
			buffer_append_u8(&out, k % (250000 / count) ? 'a' : '<');
		buffer_append_u8(&out, 'x');
		for (uint64_t k = 1; k < 250000; k++)
			if (k % (250000 / count) == 0)
				buffer_append_u8(&out, '>');
		buffer_append_text(&out, ">::work 1\n");
	}
	write_packed(path, &out);
	buffer_release(&out);
}

static void make_speedscope(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	buffer_append_text(&out,
			   "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			   "\"shared\":{\"frames\":[{\"name\":\"deep\"}]},\"profiles\":[{"
			   "\"type\":\"evented\",\"name\":\"p\",\"unit\":\"none\","
			   "\"startValue\":0,");
	buffer_printf(&out, "\"endValue\":%" PRIu64 ",\"events\":[", 2 * count);
	for (uint64_t i = 0; i < 2 * count; i++)
		buffer_printf(&out, "%s{\"type\":\"%c\",\"frame\":0,\"at\":%" PRIu64 "}",
			      i ? "," : "", i < count ? 'O' : 'C', i);
	buffer_append_text(&out, "]}]}\n");
	write_file(path, &out);
	buffer_release(&out);
}

/* ---- CPU profiles */

static void put_words(struct buffer *out, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_append_u64(out, words[i]);
}

/* 10 ms a sample, and the start of one: its count and depth are to follow. */
static const uint64_t cpu_head[] = { 0, 3, 0, 10000, 0 };
static const uint64_t cpu_trailer[] = { 0, 1, 0 };

static void make_cpu_names(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	buffer_append_text(&out, "--- symbol\nbinary=/bin/a\n0x1001 a");
	for (uint64_t i = 1; i < count; i++)
		buffer_append_text(&out, "--a");
	buffer_append_text(&out, "\n---\n--- profile\n");
	put_words(&out, cpu_head, sizeof(cpu_head) / sizeof(cpu_head[0]));
	put_words(&out, (const uint64_t[]){ 1, count, 0x2000 }, 3);
	for (uint64_t i = 1; i < count; i++)
		buffer_append_u64(&out, 0x1002);
	put_words(&out, cpu_trailer, sizeof(cpu_trailer) / sizeof(cpu_trailer[0]));
	buffer_append_text(&out, "00001000-00003000 r-xp 00000000 00:00 1 /bin/a\n");
	write_file(path, &out);
	buffer_release(&out);
}

static void make_cpu_variables(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	put_words(&out, cpu_head, sizeof(cpu_head) / sizeof(cpu_head[0]));
	put_words(&out, (const uint64_t[]){ 1, 1, 0x1004 }, 3);
	put_words(&out, cpu_trailer, sizeof(cpu_trailer) / sizeof(cpu_trailer[0]));
	for (uint64_t i = 0; i < count; i++)
		buffer_printf(&out, "a%" PRIu64 "=b\n", i);
	for (uint64_t i = 1; i <= count; i++)
		buffer_printf(&out, "%08" PRIx64 "-%08" PRIx64 " r-xp 00000000 00:00 1 $zzzzzzzz\n",
			      i << 12, (i + 1) << 12);
	write_file(path, &out);
	buffer_release(&out);
}

/* ---- perf.data */

static void put_map_at(struct perf_file *file, uint32_t pid, const char *path, uint64_t start,
		       uint64_t size)
{
	perf_record_begin(file, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER);
	perf_put_u32(file, pid);
	perf_put_u32(file, pid);
	perf_put_u64(file, start);
	perf_put_u64(file, size);
	perf_put_u64(file, 0);
	perf_put_text(file, path);
	perf_record_end(file);
}

static void put_map(struct perf_file *file, uint32_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/p/%u", pid);
	put_map_at(file, pid, path, 0x400000, 0x1000000);
}

static void put_chain(struct perf_file *file, uint32_t pid)
{
	perf_record_begin(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(file, 0x400010);
	perf_put_u32(file, pid);
	perf_put_u32(file, pid);
	perf_put_u64(file, CHAIN_FRAMES + 1);
	perf_put_u64(file, PERF_CONTEXT_USER);
	for (uint64_t i = 0; i < CHAIN_FRAMES; i++)
		perf_put_u64(file, 0x400010 + i * 16);
	perf_record_end(file);
}

static void put_compressed(struct perf_file *file, const struct buffer *records)
{
	struct buffer packed = { 0 };
	uint8_t *room = buffer_extend(&packed, ZSTD_compressBound(records->size));
	ZSTD_CCtx *packer = ZSTD_createCCtx();
	must(room && packer);
	ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, 19);
	size_t size = ZSTD_compress2(packer, room, packed.size, records->data, records->size);
	must(!ZSTD_isError(size));
	for (size_t at = 0; at < size;) {
		size_t part = size - at < 60000 ? size - at : 60000;
		perf_record_begin(file, PERF_FILE_COMPRESSED, 0);
		buffer_append(&file->bytes, room + at, part);
		perf_record_end(file);
		at += part;
	}
	ZSTD_freeCCtx(packer);
	buffer_release(&packed);
}

static void put_attr(struct perf_file *file, uint64_t sample_type)
{
	perf_record_begin(file, PERF_FILE_ATTR, 0);
	perf_put_u32(file, PERF_TYPE_SOFTWARE);
	perf_put_u32(file, 64);
	perf_put_u64(file, PERF_COUNT_SW_CPU_CLOCK);
	perf_put_u64(file, 1);
	perf_put_u64(file, sample_type);
	for (int i = 0; i < 4; i++)
		perf_put_u64(file, 0);
	perf_record_end(file);
}

#define HIGHEST_PAGE 0x7f0000000000u

static void make_mappings(uint64_t count, const char *path)
{
	struct perf_file file = { 0 };
	perf_file_begin_pipe(&file);
	put_attr(&file, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	for (uint64_t i = 0; i < count; i++)
		put_map_at(&file, 1, "/bin/a", HIGHEST_PAGE - i * 0x2000, 0x1000);
	for (uint64_t i = 0; i < 3 * count; i++) {
		perf_record_begin(&file, PERF_RECORD_FORK, 0);
		perf_put_u32(&file, 2); /* pid, parent's pid, tid, parent's tid */
		perf_put_u32(&file, 1);
		perf_put_u32(&file, 2);
		perf_put_u32(&file, 1);
		perf_put_u64(&file, 0); /* time */
		perf_record_end(&file);
		put_map_at(&file, 2, "/bin/a", 0x1000, 0x1000);
	}
	perf_record_begin(&file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(&file, HIGHEST_PAGE + 16);
	perf_put_u32(&file, 1);
	perf_put_u32(&file, 1);
	perf_record_end(&file);
	write_file(path, &file.bytes);
	perf_file_release(&file);
}

static void make_perf_data(uint64_t count, const char *path)
{
	struct perf_file file = { 0 }, inner = { 0 };
	perf_file_begin_pipe(&file);
	put_attr(&file, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN);
	for (uint64_t i = 1; i <= count; i++) {
		put_map(&inner, (uint32_t)i);
		put_chain(&inner, (uint32_t)i);
	}
	put_compressed(&file, &inner.bytes);
	write_file(path, &file.bytes);
	perf_file_release(&inner);
	perf_file_release(&file);
}

/* ---- a profile of our own */

static void put_record(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		       uint64_t last, struct buffer *content)
{
	const struct record record = { kind, first, last, { content->data, content->size } };
	must(stash_add(profile, image, &record, NULL) == 0);
	buffer_release(content);
}

/* A profile of one event, one process and one image. */
struct own {
	struct profile *profile;
	uint32_t event, context, image;
};

static void begin_own(struct own *own)
{
	const struct profile_event cycles = { .name = span_of_text("cycles:u"),
					      .unit = span_of_text("cycles"),
					      .policy = PERIOD_FIXED,
					      .period = 100000,
					      .sampled = 1 };
	const struct profile_context context = { .comm = span_of_text("program"),
						 .pid = optional_of(12) };
	const struct profile_source source = { .host = span_of_text("host"),
					       .machine = span_of_text("x86_64"),
					       .start_ns = 4102444800000000000u,
					       .duration_ns = 1000000000 };
	const struct profile_image image = { .kind = IMAGE_FILE,
					     .space = SPACE_ELF,
					     .build_id = span_of_text("12345678901234567890"),
					     .name = span_of_text("program") };
	own->profile = profile_new();
	must(own->profile && profile_add_event(own->profile, &cycles, &own->event) == 0);
	must(profile_add_context(own->profile, &context, &own->context) == 0);
	must(profile_add_source(own->profile, &source) == 0);
	must(profile_add_image(own->profile, &image, &own->image) == 0);
}

static void put_samples(const struct own *own, uint64_t vaddr, uint64_t samples)
{
	const uint64_t period = 100000;
	const struct profile_frame leaf = { .image = own->image, .vaddr = vaddr };
	const struct cell cell = { samples, samples * period,
				   (unsigned __int128)samples * period * period };
	must(profile_add_flat(own->profile, own->event, own->context, &leaf, &cell) == 0);
}

static void put_procedure(const struct own *own, const char *name, uint64_t first,
			  const struct buffer *code)
{
	struct buffer content = { 0 };
	const struct function_record function = { .name = span_of_text(name) };
	record_put_function(&content, first, &function);
	put_record(own->profile, own->image, RECORD_FUNCTION, first, first + code->size - 1,
		   &content);
	record_put_code(&content, (struct span){ code->data, code->size });
	put_record(own->profile, own->image, RECORD_CODE, first, first + code->size - 1, &content);
}

static void end_own(struct own *own, const char *path)
{
	must(profile_file_write(path, own->profile, NULL) == 0);
	profile_free(own->profile);
}

static void make_code(uint64_t count, const char *path)
{
	struct own own;
	struct buffer code = { 0 };
	begin_own(&own);
	put_samples(&own, 0x1010, 100);
	for (uint64_t i = 0; i < count; i++)
		buffer_append_u8(&code, 0x90);
	put_procedure(&own, "endless", 0x1000, &code);
	end_own(&own, path);
	buffer_release(&code);
}

/* ---- many of a kind */

static const char *executable; /* as the command line says */

static void make_events(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	for (uint64_t i = 0; i < count; i++)
		buffer_printf(&out, "a 1 1.000000: 1 x:%" PRIu64 ":  1 f (d)\n", i);
	write_packed(path, &out);
	buffer_release(&out);
}

static void make_images(uint64_t count, const char *path)
{
	struct perf_file file = { 0 };
	perf_file_begin_pipe(&file);
	perf_record_begin(&file, PERF_FILE_ATTR, 0);
	perf_put_u32(&file, PERF_TYPE_SOFTWARE);
	perf_put_u32(&file, 64);
	perf_put_u64(&file, PERF_COUNT_SW_CPU_CLOCK);
	perf_put_u64(&file, 1);
	perf_put_u64(&file, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	for (int i = 0; i < 4; i++)
		perf_put_u64(&file, 0);
	perf_record_end(&file);
	for (uint64_t i = 1; i <= count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "/nowhere/%" PRIu64, i);
		perf_record_begin(&file, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER);
		perf_put_u32(&file, 1);
		perf_put_u32(&file, 1);
		perf_put_u64(&file, i << 24);
		perf_put_u64(&file, 0x1000);
		perf_put_u64(&file, 0);
		perf_put_text(&file, name);
		perf_record_end(&file);
		perf_record_begin(&file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		perf_put_u64(&file, (i << 24) + 16);
		perf_put_u32(&file, 1);
		perf_put_u32(&file, 1);
		perf_record_end(&file);
	}
	write_file(path, &file.bytes);
	perf_file_release(&file);
}

/* "/a//./b" and the like: `number` chooses. */
static void put_spelling(struct buffer *out, const char *path, uint64_t number)
{
	const char *slash = strrchr(path, '/');
	struct buffer text = { 0 };
	must(slash);
	buffer_append(&text, path, (size_t)(slash - path));
	for (int bit = 0; bit < 12; bit++)
		buffer_append_text(&text, number >> bit & 1 ? "/" : "/./");
	buffer_append_text(&text, slash + 1);
	put_message(out, 6, &text);
}

static void put_build_id(struct buffer *out, const char *path)
{
	struct elf_file elf;
	struct identity identity;
	struct buffer bytes = { 0 }, text = { 0 };
	must(small_file_read(path, 1u << 30, &bytes) == 0 &&
	     elf_file_parse(bytes.data, bytes.size, &elf, NULL) == 0);
	identity_of_file(&elf, &identity);
	buffer_append_hex(&text, identity.build_id, identity.build_id_bytes);
	put_message(out, 6, &text);
	elf_file_release(&elf);
	buffer_release(&bytes);
}

static void make_spellings(uint64_t count, const char *path)
{
	struct buffer out = { 0 };
	must(executable);
	put_type(&out);
	put_build_id(&out, executable);
	for (uint64_t i = 0; i < count; i++) {
		struct buffer mapping = { 0 }, location = { 0 }, sample = { 0 };
		uint64_t start = (i + 1) << 32;
		put_number(&mapping, 1, i + 1);
		put_number(&mapping, 2, start);
		put_number(&mapping, 3, start + ((uint64_t)1 << 31));
		put_number(&mapping, 5, 5 + i);
		put_number(&mapping, 6, 4);
		put_message(&out, 3, &mapping);
		put_number(&location, 1, i + 1);
		put_number(&location, 2, i + 1);
		put_number(&location, 3, start + 0x100000 + i * 64);
		put_message(&out, 4, &location);
		put_number(&sample, 1, i + 1);
		put_number(&sample, 2, 1);
		put_message(&out, 2, &sample);
		put_spelling(&out, executable, i);
	}
	write_packed(path, &out);
	buffer_release(&out);
}

/* A profile with an event and a context. */
static struct profile *begin_profile(uint32_t *event, uint32_t *context)
{
	struct profile *profile = profile_new();
	const struct profile_event cycles = { .name = span_of_text("cycles:u"),
					      .unit = span_of_text("cycles"),
					      .policy = PERIOD_FIXED,
					      .period = 100000,
					      .sampled = 1 };
	const struct profile_context in = { .comm = span_of_text("program"),
					    .pid = optional_of(12) };
	const struct profile_source source = { .host = span_of_text("host"),
					       .machine = span_of_text("x86_64"),
					       .start_ns = 4102444800000000000u,
					       .duration_ns = 1000000000 };
	must(profile && profile_add_event(profile, &cycles, event) == 0 &&
	     profile_add_context(profile, &in, context) == 0 &&
	     profile_add_source(profile, &source) == 0);
	return profile;
}

static void make_builds(uint64_t count, const char *path)
{
	uint32_t event, in;
	const struct cell cell = { 1, 100000, (unsigned __int128)100000 * 100000 };
	struct profile *profile = begin_profile(&event, &in);
	for (uint64_t i = 1; i <= count; i++) {
		const uint64_t hash[2] = { i, 0 };
		struct profile_frame leaf = { .vaddr = 0x10 };
		const struct profile_image image = { .kind = IMAGE_FILE,
						     .space = SPACE_ELF,
						     .build_id = span_of_text("same"),
						     .hash = { hash, sizeof(hash) },
						     .writer = (uint64_t)1 << 32 | i };
		must(profile_add_image(profile, &image, &leaf.image) == 0);
		must(profile_add_flat(profile, event, in, &leaf, &cell) == 0);
	}
	must(profile_file_write(path, profile, NULL) == 0);
	profile_free(profile);
}

static void make_sources(uint64_t count, const char *path)
{
	uint32_t event, in;
	const struct cell cell = { 1, 100000, (unsigned __int128)100000 * 100000 };
	struct profile *profile = begin_profile(&event, &in);
	struct buffer content = { 0 }, code = { 0 };
	const struct function_record function = { .name = span_of_text("scattered") };
	const struct profile_image image = { .kind = IMAGE_FILE,
					     .space = SPACE_ELF,
					     .build_id = span_of_text("12345678901234567890") };
	struct profile_frame leaf = { .vaddr = 0x1000 };
	struct lines_writer writer;
	must(profile_add_image(profile, &image, &leaf.image) == 0);
	must(profile_add_flat(profile, event, in, &leaf, &cell) == 0);
	lines_writer_init(&writer, 0x1000);
	for (uint64_t i = 0; i < count; i++) {
		char name[32];
		buffer_append_u8(&code, 0x90);
		snprintf(name, sizeof(name), "/nowhere/%" PRIu64, i);
		lines_writer_row(&writer, 0x1000 + i, 0, span_of_text(name), 1);
	}
	record_put_function(&content, 0x1000, &function);
	put_record(profile, leaf.image, RECORD_FUNCTION, 0x1000, 0x1000 + count - 1, &content);
	record_put_code(&content, (struct span){ code.data, code.size });
	put_record(profile, leaf.image, RECORD_CODE, 0x1000, 0x1000 + count - 1, &content);
	must(lines_writer_finish(&writer, &content) == 0);
	lines_writer_release(&writer);
	put_record(profile, leaf.image, RECORD_LINES, 0x1000, 0x1000 + count - 1, &content);
	must(profile_file_write(path, profile, NULL) == 0);
	profile_free(profile);
	buffer_release(&code);
}

/* As runs of a branch stack, each over nearly all of the procedures. */
static void make_runs(uint64_t count, const char *path)
{
	const uint64_t start = 0x100000;
	struct own own;
	struct buffer code = { 0 };
	begin_own(&own);
	buffer_append(&code, "\x90\x90\x90\xc3\x90\x90\x90\xc3", 8);
	for (uint64_t i = 0; i < count; i++) {
		char name[24];
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		put_procedure(&own, name, start + 8 * i, &code);
		put_samples(&own, start + 8 * i, 1 + i % 7);
		must(profile_add_range(own.profile, own.event, own.context, ORIGIN_MEASURED,
				       own.image, start - count + i, start + 8 * count + i,
				       3) == 0);
	}
	const struct profile_frame from = { .image = own.image, .vaddr = start + 3 },
				   to = { .image = own.image, .vaddr = start + 8 };
	must(profile_add_edge(own.profile, own.event, own.context, ORIGIN_MEASURED, &from, &to, 5,
			      0) == 0);
	end_own(&own, path);
	buffer_release(&code);
}

/* "imul %rax,%rax; jne": the jumps lead back, the last one furthest, so loops nest as deep. */
static void put_ladder(int32_t jumps, struct buffer *code)
{
	const int32_t each = 10;
	for (int32_t i = 0; i < jumps; i++) {
		int32_t way = (jumps - 1 - i) * each - (i + 1) * each;
		buffer_append(code, "\x48\x0f\xaf\xc0\x0f\x85", 6);
		buffer_append(code, &way, sizeof(way));
	}
	buffer_append_u8(code, 0xc3);
}

static void write_ladders(uint64_t count, uint64_t jumps, const char *path)
{
	struct own own;
	struct buffer code = { 0 };
	begin_own(&own);
	put_ladder((int32_t)jumps, &code);
	for (uint64_t i = 0; i < count; i++) {
		char name[24];
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		put_procedure(&own, name, 0x100000 + 0x10000 * i, &code);
		for (uint64_t k = 0; k < jumps; k++)
			put_samples(&own, 0x100000 + 0x10000 * i + 10 * k, 1 + k % 7);
	}
	end_own(&own, path);
	buffer_release(&code);
}

static void make_ladders(uint64_t count, const char *path)
{
	write_ladders(count, 300, path);
}

static void make_ladder(uint64_t count, const char *path)
{
	write_ladders(4, count, path);
}

static const struct kind {
	const char *name;
	void (*make)(uint64_t count, const char *path);
} kinds[] = {
	{ "pprof", make_pprof },
	{ "folded", make_folded },
	{ "folded-names", make_names },
	{ "perf-data", make_perf_data },
	{ "code", make_code },
	{ "speedscope", make_speedscope },
	{ "numbers", make_numbers },
	{ "pprof-again", make_again },
	{ "events", make_events },
	{ "images", make_images },
	{ "spellings", make_spellings },
	{ "builds", make_builds },
	{ "sources", make_sources },
	{ "cpu-names", make_cpu_names },
	{ "cpu-variables", make_cpu_variables },
	{ "mappings", make_mappings },
	{ "folded-long", make_long_name },
	{ "folded-brackets", make_brackets },
	{ "runs", make_runs },
	{ "ladders", make_ladders },
	{ "ladder", make_ladder },
};

int main(int argc, char **argv)
{
	executable = argc == 5 ? argv[4] : NULL;
	for (size_t i = 0; (argc == 4 || argc == 5) && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[1], kinds[i].name) == 0) {
			kinds[i].make(strtoull(argv[2], NULL, 10), argv[3]);
			return 0;
		}
	fprintf(stderr, "usage: make-costly-file KIND N FILE [EXECUTABLE]\n");
	return 2;
}

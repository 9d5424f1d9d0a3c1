#include "unwind/frame_rules.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number_map.h"
#include "image/elf_file.h"
#include "image/frame_entries.h"
#include "image/go_functions.h"
#include "unwind/frame_program.h"
#include "unwind/go_rules.h"

#define PADDING_MOST  16
#define INIT_MOST     64  /* bytes of .init */
#define START_MOST    256 /* bytes of hand-written code that starts a program */
#define RECENT_RULES  256
#define SEGMENTS_MOST 32 /* with code; files have one, or a few */
/* Code without entries that is searched, of a file: C libraries have less; chromium has 236 MB. */
#define SEARCHED_MOST (8u << 20)

/* A kind of entries, with what holds at the first byte of each. */
struct common {
	struct frame_common read;
	struct frame_state initial;
	bool usable;
	enum frame_section_kind kind;
};

struct entry {
	struct frame_entry read; /* but for ->common; of a Go function the extent alone */
	bool go;
	uint32_t from;	/* the number of what it has in common with others, or of the Go function */
	uint32_t order; /* of two about the same place the one that came first counts */
};

struct making {
	const struct elf_file *file;
	const struct frame_machine *machine;
	struct frame_rules *out;
	struct common *commons;
	struct go_functions go;
	struct entry *entries;
	size_t common_count, common_capacity, entry_count, entry_capacity;
	size_t row_capacity, rule_capacity;
	struct number_map numbers; /* of rules, plus 1 */
	struct {
		frame_rule rule;
		uint32_t number;      /* plus 1; 0: none */
	} recent[RECENT_RULES];	      /* by their bits: most rows have one of a few rules */
	size_t instruction_bytes;     /* of all entries */
	size_t searched_bytes;	      /* for code that is known by its bytes */
	enum frame_section_kind kind; /* that is read now */
	const struct elf_segment *segments[SEGMENTS_MOST];
	size_t segment_count;
};

/* ---- rows */

/* Stores the number of a rule, which is added when it is new. 0 or -ENOMEM. */
static int number_rule(struct making *making, frame_rule rule, uint32_t *number)
{
	struct frame_rules *out = making->out;
	size_t slot = rule * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (RECENT_RULES - 1);
	if (making->recent[slot].number && making->recent[slot].rule == rule) {
		*number = making->recent[slot].number - 1;
		return 0;
	}
	uintptr_t known = (uintptr_t)number_map_find(&making->numbers, rule);
	if (known) {
		*number = (uint32_t)(known - 1);
		making->recent[slot].rule = rule;
		making->recent[slot].number = (uint32_t)known;
		return 0;
	}
	/* The last number is that of what has no room. */
	if (out->rule_count == FRAME_RULES_MOST - 1)
		rule = FRAME_CFA_BAD;
	if (out->rule_count == FRAME_RULES_MOST) {
		*number = FRAME_RULES_MOST - 1;
		return 0;
	}
	int ret = array_reserve(&out->rules, &making->rule_capacity, out->rule_count,
				sizeof(*out->rules));
	if (ret == 0)
		ret = number_map_put(&making->numbers, rule,
				     (void *)(uintptr_t)(out->rule_count + 1));
	if (ret < 0)
		return ret;
	*number = (uint32_t)out->rule_count;
	out->rules[out->rule_count++] = rule;
	return 0;
}

/* Adds a row at an offset that is not before the last one's. 0 or -ENOMEM. */
static int add_row(struct making *making, uint64_t offset, frame_rule rule)
{
	struct frame_rules *out = making->out;
	uint32_t number;
	if (offset > UINT32_MAX)
		return 0;
	int ret = number_rule(making, rule, &number);
	if (ret < 0)
		return ret;
	while (out->count && out->rows[out->count - 1].offset >= offset)
		out->count--;
	if (out->count && out->rows[out->count - 1].rule == number)
		return 0;
	ret = array_reserve(&out->rows, &making->row_capacity, out->count, sizeof(*out->rows));
	if (ret == 0)
		out->rows[out->count++] = (struct frame_row){ (uint32_t)offset, number };
	return ret;
}

/* ---- entries */

static int add_common(struct making *making, const struct frame_common *read)
{
	int ret = array_reserve(&making->commons, &making->common_capacity, making->common_count,
				sizeof(*making->commons));
	if (ret < 0)
		return ret;
	struct common *made = &making->commons[making->common_count++];
	*made = (struct common){ .read = *read, .kind = making->kind };
	made->usable = frame_program_begin(making->machine, read, &made->initial);
	return 0;
}

static int append_entry(struct making *making, const struct entry *entry)
{
	int ret = array_reserve(&making->entries, &making->entry_capacity, making->entry_count,
				sizeof(*making->entries));
	if (ret < 0)
		return ret;
	making->entries[making->entry_count] = *entry;
	making->entries[making->entry_count].order = (uint32_t)making->entry_count;
	making->entry_count++;
	return 0;
}

static int add_entry(void *context, const struct frame_entry *entry)
{
	struct making *making = context;
	const struct common *last =
		making->common_count ? &making->commons[making->common_count - 1] : NULL;
	int ret = 0;
	if (!last || last->read.at != entry->common->at || last->kind != making->kind)
		ret = add_common(making, entry->common);
	if (ret < 0)
		return ret;
	making->instruction_bytes += entry->instructions.size;
	const struct entry added = { .read = *entry, .from = (uint32_t)(making->common_count - 1) };
	return append_entry(making, &added);
}

/* Go's functions come first: what .debug_frame says of them leaves out the frame pointer. */
static int add_go_functions(struct making *making)
{
	int ret = go_functions_open(making->file, &making->go);
	if (ret <= 0)
		return ret;
	ret = 0;
	for (size_t i = 0; i < making->go.count && ret == 0; i++) {
		struct go_function function;
		if (!go_functions_get(&making->go, i, &function)) {
			making->out->bad++;
			continue;
		}
		const struct entry added = { .read = { .start = function.start,
						       .size_bytes =
							       function.end - function.start },
					     .go = true,
					     .from = (uint32_t)i };
		ret = append_entry(making, &added);
	}
	return ret;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a;
	const struct entry *right = b;
	if (left->read.start != right->read.start)
		return left->read.start < right->read.start ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static bool is_sorted(const struct making *making)
{
	for (size_t i = 1; i < making->entry_count; i++)
		if (compare_entries(&making->entries[i - 1], &making->entries[i]) > 0)
			return false;
	return true;
}

static uint64_t offset_of(const struct elf_segment *segment, uint64_t vaddr)
{
	return vaddr - segment->vaddr + segment->offset;
}

/* Of AArch64: a frame that has put nothing on the stack, and one for which a procedure linkage
 * table has put x16 and x30 there. */
#define LEAF_RULE   ((frame_rule)FRAME_CFA_STACK)
#define LINKED_RULE (FRAME_CFA_STACK | (frame_rule)(FRAME_SLOT_PAIR + 1) << 10 | UINT64_C(16) << 32)

/* Where the rows of an entry go. */
struct adding {
	struct making *making;
	const struct elf_segment *segment;
};

static int add_rule(void *context, uint64_t address, frame_rule rule)
{
	const struct adding *adding = context;
	struct frame_rules *out = adding->making->out;
	uint64_t offset = offset_of(adding->segment, address);
	/* What a linkage table has put on the stack is there from the first instruction on, though
	 * the entry says so behind it (frame_program.c). */
	if (rule == LINKED_RULE && out->count && offset - out->rows[out->count - 1].offset == 4 &&
	    out->rules[out->rows[out->count - 1].rule] == LEAF_RULE)
		offset -= 4;
	return add_row(adding->making, offset, rule);
}

/* ---- what entries do not say */

/*
 * Code without entries that is known by its bytes.
 *
 * Where a signal's handler returns to: it loads the number of rt_sigreturn(2) and calls the kernel;
 * the registers are at an offset from the stack pointer (arch/x86/include/asm/sigframe.h,
 * arch/arm64/kernel/signal.c). Who asks about a return looks at the byte before.
 *
 * The first entry of a procedure linkage table of AArch64 ("ELF for the Arm 64-bit Architecture"):
 * it has put x16 and x30 on the stack.
 */
static const struct known_code {
	uint16_t machine;
	uint8_t bytes[9], size;
	bool before;	     /* from the byte before it on, */
	uint8_t from, until; /* or from so many bytes behind its first on */
	frame_rule rule;
} known_codes[] = {
	{ .machine = EM_X86_64,
	  .bytes = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	  .size = 9,
	  .before = true,
	  .until = 9,
	  .rule = FRAME_CFA_SIGNAL | (frame_rule)FRAME_POINTER_LOST << 8 | UINT64_C(160) << 32 },
	{ .machine = EM_AARCH64,
	  .bytes = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 },
	  .size = 8,
	  .before = true,
	  .until = 8,
	  .rule = FRAME_CFA_SIGNAL | (frame_rule)FRAME_POINTER_LOST << 8 | UINT64_C(544) << 32 },
	{ .machine = EM_AARCH64,
	  .bytes = { 0xf0, 0x7b, 0xbf, 0xa9 },
	  .size = 4,
	  .from = 4,
	  .until = 20,
	  .rule = LINKED_RULE },
};

struct found_code {
	const struct known_code *code;
	size_t at; /* of its first byte */
};

/* The first known code at or behind `from`; `code` is NULL when there is none. */
static struct found_code find_known(const struct making *making, struct span code, size_t from)
{
	struct found_code first = { 0 };
	for (size_t i = 0; i < sizeof(known_codes) / sizeof(known_codes[0]); i++) {
		const struct known_code *known = &known_codes[i];
		const uint8_t *bytes = code.data;
		if (known->machine != making->machine->machine || from >= code.size)
			continue;
		const uint8_t *found =
			memmem(bytes + from, code.size - from, known->bytes, known->size);
		if (found && (!first.code || (size_t)(found - bytes) < first.at))
			first = (struct found_code){ known, (size_t)(found - bytes) };
	}
	return first;
}

/* What a C library's crti.o has put in front of .init and .fini of x86-64, which no entry is about:
 * sub $8,%rsp, and behind it calls; and what its crtn.o ends it with: add $8,%rsp and ret. */
static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const uint8_t down[] = { 0x48, 0x83, 0xec, 0x08 };
static const uint8_t up[] = { 0x48, 0x83, 0xc4, 0x08 };

/* How many of the bytes from `start` to `end`, which ends a segment, are its .fini, of which crti.o
 * and crtn.o alone have made all. */
static size_t fini_bytes(const struct making *making, uint64_t start, uint64_t end)
{
	static const uint8_t fini[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	struct span code = elf_file_code(making->file, start, end - start);
	const uint8_t *bytes = code.data;
	if (making->machine->machine != EM_X86_64 || code.size != end - start ||
	    code.size < sizeof(fini) ||
	    memcmp(bytes + code.size - sizeof(fini), fini, sizeof(fini)) != 0)
		return 0;
	size_t before = code.size - sizeof(fini);
	bool marked = before >= sizeof(endbr) &&
		      memcmp(bytes + before - sizeof(endbr), endbr, sizeof(endbr)) == 0;
	return sizeof(fini) + (marked ? sizeof(endbr) : 0);
}

/* Adds rows for .init or .fini, if the code begins with one. */
static int add_init(struct making *making, const struct elf_segment *segment, uint64_t start,
		    struct span code)
{
	const uint8_t *bytes = code.data;
	size_t at = 0;
	if (code.size > INIT_MOST)
		code.size = INIT_MOST;
	if (code.size >= sizeof(endbr) && memcmp(bytes, endbr, sizeof(endbr)) == 0)
		at = sizeof(endbr);
	if (making->machine->machine != EM_X86_64 || code.size - at < sizeof(down) ||
	    memcmp(bytes + at, down, sizeof(down)) != 0)
		return 0;
	at += sizeof(down);
	const uint8_t *last = memmem(bytes + at, code.size - at, up, sizeof(up));
	if (!last)
		return 0;
	const struct {
		uint64_t at;
		frame_rule rule;
	} rows[] = {
		{ 0, frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, 8) },
		{ at, frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, 16) },
		{ (uint64_t)(last - bytes) + sizeof(up),
		  frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0, 8) },
		{ (uint64_t)(last - bytes) + sizeof(up) + 1, FRAME_CFA_NONE },
	};
	int ret = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && ret == 0; i++)
		ret = add_row(making, offset_of(segment, start + rows[i].at), rows[i].rule);
	return ret;
}

/* Adds rows for code without entries, from `start` up to `end` in a segment. */
static int add_gap(struct making *making, const struct elf_segment *segment, uint64_t start,
		   uint64_t end)
{
	struct span code = elf_file_code(making->file, start, end - start);
	uint64_t offset = offset_of(segment, start);
	int ret = add_row(making, offset, FRAME_CFA_NONE);
	if (ret == 0)
		ret = add_init(making, segment, start, code);
	if (code.size > SEARCHED_MOST - making->searched_bytes)
		code.size = SEARCHED_MOST - making->searched_bytes;
	making->searched_bytes += code.size;
	struct found_code found = find_known(making, code, 0);
	while (ret == 0 && found.code) {
		const struct known_code *known = found.code;
		uint64_t from = found.at + known->from - (known->before && found.at);
		size_t until = found.at + known->until;
		ret = add_row(making, offset + from, known->rule);
		if (ret == 0)
			ret = add_row(making, offset + until, FRAME_CFA_NONE);
		found = find_known(making, code, until);
	}
	return ret;
}

/* Adds what is between two entries, or an entry and the border of a segment. */
static int add_between(struct making *making, const struct elf_segment *segment, uint64_t start,
		       uint64_t end)
{
	uint64_t entry = making->file->entry;
	int ret = add_gap(making, segment, start, end);
	/* Code that nothing has called, and then what it is followed by. */
	if (ret < 0 || entry < start || entry >= end)
		return ret;
	uint64_t after = end - entry > START_MOST ? entry + START_MOST : end;
	ret = add_row(making, offset_of(segment, entry),
		      frame_rule_of(FRAME_CFA_END, FRAME_POINTER_LOST, 0, 0, 0));
	return ret < 0 || after == end ? ret : add_gap(making, segment, after, end);
}

/* ---- a file */

static int compare_segments(const void *a, const void *b)
{
	const struct elf_segment *left = *(const struct elf_segment *const *)a;
	const struct elf_segment *right = *(const struct elf_segment *const *)b;
	return left->vaddr < right->vaddr ? -1 : left->vaddr > right->vaddr;
}

static void find_segments(struct making *making)
{
	const struct elf_file *file = making->file;
	for (size_t i = 0; i < file->segment_count && making->segment_count < SEGMENTS_MOST; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t end;
		if (segment->type == PT_LOAD && segment->flags & PF_X && segment->file_bytes &&
		    !__builtin_add_overflow(segment->vaddr, segment->file_bytes, &end))
			making->segments[making->segment_count++] = segment;
	}
	if (making->segment_count)
		qsort(making->segments, making->segment_count, sizeof(making->segments[0]),
		      compare_segments);
}

static int add_go_rows(struct making *making, const struct entry *entry,
		       const struct elf_segment *segment)
{
	struct adding adding = { making, segment };
	struct go_function function;
	/* What made sense when it was added does so now. */
	if (!go_functions_get(&making->go, entry->from, &function))
		return 0;
	struct span code = elf_file_code(making->file, function.start, entry->read.size_bytes);
	return go_rules_run(&making->go, &function, making->machine->machine, code, add_rule,
			    &adding);
}

static int add_entry_rows(struct making *making, const struct entry *entry,
			  const struct elf_segment *segment)
{
	if (entry->go)
		return add_go_rows(making, entry, segment);
	const struct common *common = &making->commons[entry->from];
	struct adding adding = { making, segment };
	struct frame_entry read = entry->read;
	uint64_t room = segment->file_bytes - (read.start - segment->vaddr);
	if (read.size_bytes > room)
		read.size_bytes = room;
	int ret = !common->usable ? 1
				  : frame_program_run(making->machine, &common->read,
						      &common->initial, &read, add_rule, &adding);
	if (ret == 1) {
		making->out->bad++;
		ret = add_row(making, offset_of(segment, read.start), FRAME_CFA_BAD);
	}
	return ret;
}

/* Adds the rows of a segment, whose entries begin at *next, which moves past them. */
static int add_segment_rows(struct making *making, const struct elf_segment *segment, size_t *next)
{
	uint64_t end = segment->vaddr; /* of the last entry */
	uint64_t last = segment->vaddr + segment->file_bytes;
	int ret = 0;
	for (; *next < making->entry_count && ret == 0; ++*next) {
		const struct entry *entry = &making->entries[*next];
		uint64_t start = entry->read.start;
		if (start >= last)
			break;
		if (start < end) /* in no segment with code, or in another entry */
			continue;
		if (start - end > PADDING_MOST)
			ret = add_between(making, segment, end, start);
		if (ret == 0)
			ret = add_entry_rows(making, entry, segment);
		end = last - start < entry->read.size_bytes ? last : start + entry->read.size_bytes;
	}
	uint64_t fini = last - fini_bytes(making, end, last);
	if (ret == 0 && fini - end > PADDING_MOST)
		ret = add_between(making, segment, end, fini);
	if (ret == 0)
		ret = add_init(making, segment, fini,
			       elf_file_code(making->file, fini, last - fini));
	/* What follows may be the next segment's. */
	return ret < 0 ? ret : add_row(making, offset_of(segment, last), FRAME_CFA_NONE);
}

static int add_rows(struct making *making)
{
	size_t next = 0;
	/* About as many as there will be, for growing is copying. */
	int ret = array_reserve(&making->out->rows, &making->row_capacity,
				making->entry_count + making->instruction_bytes / 4,
				sizeof(*making->out->rows));
	for (size_t i = 0; i < making->segment_count && ret == 0; i++)
		ret = add_segment_rows(making, making->segments[i], &next);
	return ret;
}

static int read_section(struct making *making, enum frame_section_kind kind)
{
	size_t bad;
	making->kind = kind;
	int ret = frame_entries_read(making->file, kind, add_entry, making, &bad);
	making->out->bad += bad;
	return ret;
}

int frame_rules_read(const struct elf_file *file, struct frame_rules *out)
{
	struct making making = { .file = file,
				 .machine = frame_machine_of(file->machine),
				 .out = out };
	*out = (struct frame_rules){ 0 };
	if (!making.machine || !file->wide)
		return 0;
	find_segments(&making);
	int ret = add_go_functions(&making);
	if (ret == 0)
		ret = read_section(&making, FRAMES_EH);
	if (ret == 0)
		ret = read_section(&making, FRAMES_DEBUG);
	if (ret == 0) {
		/* Linkers have mostly put them in order. */
		if (!is_sorted(&making))
			qsort(making.entries, making.entry_count, sizeof(*making.entries),
			      compare_entries);
		ret = add_rows(&making);
	}
	number_map_release(&making.numbers);
	free(making.commons);
	free(making.entries);
	if (ret < 0)
		frame_rules_release(out);
	return ret;
}

void frame_rules_release(struct frame_rules *rules)
{
	free(rules->rows);
	free(rules->rules);
	*rules = (struct frame_rules){ 0 };
}

frame_rule frame_rules_find(const struct frame_rules *rules, uint64_t offset)
{
	size_t low = 0;
	size_t high = rules->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rules->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? rules->rules[rules->rows[low - 1].rule] : FRAME_CFA_NONE;
}

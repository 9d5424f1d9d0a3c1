#include "import/unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/number_map.h"
#include "import/unwind/unwind_helper.h"
#include "symbol/binary_finder.h"
#include "symbol/helper_process.h"
#include "symbol/reader.h"

#define TIMEOUT_MS   5000
#define SPACES_MAX   512	/* that the helper has at once */
#define MAPPINGS_MAX (1u << 20) /* of all of them */
/* Mappings that may be sent in all, besides one for each byte of the samples' stacks: a process
 * that maps something between any two samples has all of its mappings sent each time. */
#define MAPPINGS_FREE	(1u << 22)
#define FILES_A_STACK	UNWIND_MAX_FRAMES
#define STACK_MAX_BYTES (1u << 20) /* perf's largest sample is 64 KiB */

struct unwound_file {
	uint32_t owner;	  /* the owner's number */
	bool refused;	  /* the helper died of it */
	uint64_t samples; /* whose stacks end in it, since it is missing */
};

/* An address space that the helper has, recognised by its own address: while we hold a share of it
 * nobody changes it. */
struct known_space {
	struct address_space *space;
	uint16_t machine;
	uint32_t number;
};

struct unwinder {
	struct unwind_options options;
	struct reader *reader;
	struct binary_finder *finder;
	struct helper helper;
	struct unwound_file *files; /* number - 1 */
	size_t file_count, file_capacity;
	struct number_map numbers; /* by the owner's number: number */
	struct hash128 spaces[SPACES_MAX];
	size_t space_count, mapping_count;
	struct hash_index space_index;
	struct known_space known[SPACES_MAX];
	size_t known_count;
	uint64_t sent, sent_limit;     /* mappings, over all time */
	struct number_map known_index; /* rows of `known` by the space's address */
	struct buffer scratch;	       /* the mappings of a space, in our numbers */
	unsigned deaths;
	uint32_t last_file; /* sent to the helper last; 0 once a stack was unwound with it */
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	uint64_t counts[UNWIND_ENDS];
};

static void forget_known(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->known_count; i++)
		address_space_drop(unwinder->known[i].space);
	unwinder->known_count = 0;
	number_map_release(&unwinder->known_index);
	unwinder->known_index = (struct number_map){ 0 };
}

static void forget_spaces(struct unwinder *unwinder)
{
	forget_known(unwinder);
	hash_index_release(&unwinder->space_index);
	unwinder->space_index = (struct hash_index){ 0 };
	unwinder->space_count = unwinder->mapping_count = 0;
}

int unwinder_new(const struct unwind_options *options, struct unwinder **out, struct error *err)
{
	CLEANUP(unwinder_freep) struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return error_set(err, -ENOMEM, "out of memory");
	unwinder->options = *options;
	unwinder->helper.run = unwind_helper_run;
	unwinder->sent_limit = MAPPINGS_FREE;
	const struct binary_finder_options where = { options->symfs, options->debug_root,
						     options->perf_cache };
	int ret = reader_new(NULL, &unwinder->reader, err);
	if (ret == 0)
		ret = helper_start(&unwinder->helper, err);
	if (ret < 0)
		return ret;
	if (binary_finder_new(unwinder->reader, &where, &unwinder->finder) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*out = unwinder;
	unwinder = NULL;
	return 0;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	helper_stop(&unwinder->helper);
	binary_finder_free(unwinder->finder);
	reader_free(unwinder->reader);
	number_map_release(&unwinder->numbers);
	forget_spaces(unwinder);
	buffer_release(&unwinder->scratch);
	free(unwinder->files);
	free(unwinder);
}

void unwinder_freep(struct unwinder **unwinder)
{
	unwinder_free(*unwinder);
}

/* Our number of the owner's file, or 0: out of memory, or more files than the helper takes. */
static uint32_t number_of(struct unwinder *unwinder, uint32_t owner)
{
	void *found = number_map_find(&unwinder->numbers, owner);
	if (found)
		return (uint32_t)(uintptr_t)found;
	if (unwinder->file_count == UNWIND_MAX_FILES ||
	    array_reserve(&unwinder->files, &unwinder->file_capacity, unwinder->file_count,
			  sizeof(*unwinder->files)) < 0)
		return 0;
	uint32_t number = (uint32_t)unwinder->file_count + 1;
	if (number_map_put(&unwinder->numbers, owner, (void *)(uintptr_t)number) < 0)
		return 0;
	unwinder->files[unwinder->file_count++] = (struct unwound_file){ .owner = owner };
	return number;
}

/* After a helper did not answer, or made no sense: the next request starts one that knows nothing.
 */
static void forget_helper(struct unwinder *unwinder)
{
	forget_spaces(unwinder);
	unwinder->deaths++;
	if (unwinder->last_file)
		unwinder->files[unwinder->last_file - 1].refused = true;
	unwinder->last_file = 0;
}

/* One request. 0 with *answer filled, 1 when the helper died, or a negative errno: -ENOMEM, or the
 * helper's own. */
static int ask(struct unwinder *unwinder, struct message *request, struct message *answer)
{
	struct error err;
	uint32_t timeout_ms =
		unwinder->options.timeout_ms ? unwinder->options.timeout_ms : TIMEOUT_MS;
	int ret = helper_ask(&unwinder->helper, request, timeout_ms, answer, &err);
	if (ret != -EIO && ret != -ETIMEDOUT)
		return ret;
	forget_helper(unwinder);
	return 1;
}

/* ---- Spaces */

static bool space_equal(const void *rows, uint32_t position, const void *wanted)
{
	return memcmp(&((const struct hash128 *)rows)[position], wanted, sizeof(struct hash128)) ==
	       0;
}

/* Writes the request that sends the space to `scratch`. */
static int put_space(struct unwinder *unwinder, const struct address_space *space, uint16_t machine)
{
	struct buffer *out = &unwinder->scratch;
	struct unwind_space_request request = { .machine = machine };
	buffer_empty(out);
	buffer_append(out, &request, sizeof(request));
	struct mapping_place place = { 0 };
	for (const struct mapping *own; space && (own = address_space_next(space, &place));) {
		struct mapping mapping;
		memset(&mapping, 0, sizeof(mapping)); /* padding too: it is hashed */
		mapping.start = own->start;
		mapping.end = own->end;
		mapping.offset = own->offset;
		if (own->file)
			mapping.file = number_of(unwinder, own->file);
		buffer_append(out, &mapping, sizeof(mapping));
	}
	return buffer_failed(out) ? -ENOMEM : 0;
}

/* Stores the number of a space with these contents, which is sent to the helper when it is new. 0,
 * 1 when the helper died, -E2BIG past what may be sent, or -ENOMEM. */
static int send_space(struct unwinder *unwinder, const struct unwind_sample *sample,
		      uint16_t machine, uint32_t *number)
{
	uint64_t count = sample->space ? sample->space->count : 0;
	if (count > unwinder->sent_limit - unwinder->sent)
		return -E2BIG;
	unwinder->sent += count;
	if (put_space(unwinder, sample->space, machine) < 0)
		return -ENOMEM;
	struct buffer *request = &unwinder->scratch;
	struct hash128 hash = hash128_of_text(request->data, request->size);
	uint32_t position = hash_index_find(&unwinder->space_index, hash.low, space_equal,
					    unwinder->spaces, &hash);
	if (position != HASH_INDEX_NONE) {
		*number = position + 1;
		return 0;
	}
	size_t mappings = request->size / sizeof(struct mapping);
	if (unwinder->space_count == SPACES_MAX ||
	    (unwinder->space_count && mappings > MAPPINGS_MAX - unwinder->mapping_count))
		forget_spaces(unwinder);
	*number = (uint32_t)unwinder->space_count + 1;
	memcpy(request->data + offsetof(struct unwind_space_request, number), number,
	       sizeof(*number));
	struct message message = { .header.operation = UNWIND_SET_SPACE, .payload = *request };
	struct message answer;
	int ret = ask(unwinder, &message, &answer);
	if (ret)
		return ret < 0 ? -ENOMEM : ret;
	message_release(&answer);
	unwinder->spaces[unwinder->space_count] = hash;
	if (hash_index_add(&unwinder->space_index, hash.low, *number - 1) < 0)
		return -ENOMEM;
	unwinder->space_count++;
	unwinder->mapping_count += mappings < MAPPINGS_MAX ? mappings : MAPPINGS_MAX;
	return 0;
}

static struct known_space *find_known(const struct unwinder *unwinder,
				      const struct address_space *space)
{
	return number_map_find(&unwinder->known_index, (uintptr_t)space);
}

static int keep_known(struct unwinder *unwinder, struct address_space *space, uint16_t machine,
		      uint32_t number)
{
	struct known_space *known = find_known(unwinder, space);
	if (!known && unwinder->known_count == SPACES_MAX)
		forget_known(unwinder);
	if (!known) {
		known = &unwinder->known[unwinder->known_count];
		if (number_map_put(&unwinder->known_index, (uintptr_t)space, known) < 0)
			return -ENOMEM;
		known->space = address_space_share(space);
		unwinder->known_count++;
	}
	known->machine = machine;
	known->number = number;
	return 0;
}

/* As send_space(), but does not read all mappings of a known space again for each of its samples.
 */
static int find_space(struct unwinder *unwinder, const struct unwind_sample *sample,
		      uint16_t machine, uint32_t *number)
{
	const struct known_space *known =
		sample->space ? find_known(unwinder, sample->space) : NULL;
	if (known && known->machine == machine) {
		*number = known->number;
		return 0;
	}
	int ret = send_space(unwinder, sample, machine, number);
	if (ret || !sample->space)
		return ret;
	return keep_known(unwinder, sample->space, machine, *number);
}

/* ---- Files */

static int open_file(struct unwinder *unwinder, const struct unwound_file *file)
{
	struct unwind_file named = { 0 };
	struct binary_found found;
	if (file->refused)
		return -1;
	unwinder->options.name_file(unwinder->options.context, file->owner, &named);
	const struct binary_wanted wanted = { .build_id = named.build_id,
					      .paths = &named.path,
					      .path_count = 1,
					      .here = named.here };
	if (binary_finder_open(unwinder->finder, &wanted, &found) < 0)
		return -1;
	buffer_release(&found.path);
	if (unwinder->options.found_file && !found.by_name)
		unwinder->options.found_file(unwinder->options.context, file->owner,
					     &found.identity);
	return found.fd;
}

/* Sends a file, or that it is missing, to the helper. 0, 1 when the helper died, or -ENOMEM. A file
 * that it refuses is missing to it. */
static int send_file(struct unwinder *unwinder, uint32_t number)
{
	CLEANUP(close_fd) int fd = open_file(unwinder, &unwinder->files[number - 1]);
	struct message request = {
		.header = { .operation = UNWIND_SET_FILE, .what = number, .fd_count = fd >= 0 },
		.fds = { fd },
	};
	struct message answer;
	unwinder->last_file = number;
	int ret = ask(unwinder, &request, &answer);
	if (ret == 0)
		message_release(&answer);
	return ret < 0 ? 0 : ret;
}

/* ---- Stacks */

static uint16_t machine_of_sample(const struct unwind_sample *sample)
{
	if (sample->abi != PERF_SAMPLE_REGS_ABI_32)
		return sample->machine;
	if (sample->machine == EM_X86_64)
		return EM_386;
	return sample->machine == EM_AARCH64 ? EM_ARM : sample->machine;
}

static bool read_registers(const struct unwind_sample *sample, struct unwind_registers *registers)
{
	*registers = (struct unwind_registers){ .mask = sample->mask };
	uint64_t next = 0;
	if (sample->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	for (unsigned i = 0; i < UNWIND_MAX_REGISTERS; i++) {
		if (!(sample->mask >> i & 1))
			continue;
		if (next == sample->registers.count)
			return false;
		registers->values[i] = perf_word(&sample->registers, next++);
	}
	return next > 0;
}

/* Reads the helper's answer and checks it: who reads strangers' files is not trusted. */
static bool read_answer(struct unwinder *unwinder, const struct message *answer,
			struct unwind_run *run)
{
	struct unwind_run_answer header;
	size_t size = answer->payload.size;
	if (size < sizeof(header) || (size - sizeof(header)) % sizeof(struct unwind_frame))
		return false;
	memcpy(&header, answer->payload.data, sizeof(header));
	size_t count = (size - sizeof(header)) / sizeof(struct unwind_frame);
	if (header.end >= UNWIND_ENDS || header.file > unwinder->file_count ||
	    count > UNWIND_MAX_FRAMES ||
	    (header.file == 0 &&
	     (header.end == UNWIND_FILE_NEEDED || header.end == UNWIND_NO_BINARY)))
		return false;
	memcpy(unwinder->frames, answer->payload.data + sizeof(header),
	       count * sizeof(struct unwind_frame));
	for (size_t i = 0; i < count; i++)
		unwinder->frames[i].is_return = unwinder->frames[i].is_return != 0;
	*run = (struct unwind_run){ unwinder->frames, count, (enum unwind_end)header.end,
				    header.file };
	return true;
}

/* One attempt. 0 with *run filled, 1 when the helper died, -E2BIG or -ENOMEM. */
static int run_once(struct unwinder *unwinder, const struct unwind_sample *sample,
		    const struct unwind_registers *registers, struct unwind_run *run)
{
	struct unwind_run_request wanted = { .registers = *registers };
	uint32_t number;
	int ret = find_space(unwinder, sample, machine_of_sample(sample), &number);
	if (ret)
		return ret;
	wanted.space = number;
	struct message request = { .header.operation = UNWIND_RUN };
	struct message answer;
	size_t stack_bytes =
		sample->stack.size < STACK_MAX_BYTES ? sample->stack.size : STACK_MAX_BYTES;
	buffer_append(&request.payload, &wanted, sizeof(wanted));
	buffer_append(&request.payload, sample->stack.data, stack_bytes);
	ret = ask(unwinder, &request, &answer);
	buffer_release(&request.payload);
	if (ret)
		return ret;
	bool sound = read_answer(unwinder, &answer, run);
	message_release(&answer);
	if (!sound)
		forget_helper(unwinder);
	return !sound;
}

static int run_until_known(struct unwinder *unwinder, const struct unwind_sample *sample,
			   const struct unwind_registers *registers, struct unwind_run *run)
{
	for (unsigned tries = 0; tries < FILES_A_STACK; tries++) {
		int ret = run_once(unwinder, sample, registers, run);
		if (ret || run->end != UNWIND_FILE_NEEDED) {
			if (ret == 0)
				unwinder->last_file = 0;
			return ret;
		}
		ret = send_file(unwinder, run->file);
		if (ret)
			return ret;
	}
	return 1;
}

int unwinder_run(struct unwinder *unwinder, const struct unwind_sample *sample,
		 struct unwind_run *run)
{
	struct unwind_registers registers;
	int ret = 0;
	*run = (struct unwind_run){ .frames = unwinder->frames, .end = UNWIND_NO_REGISTERS };
	unwinder->sent_limit += sample->stack.size;
	if (read_registers(sample, &registers))
		ret = unwinder->deaths < UNWIND_MAX_DEATHS
			      ? run_until_known(unwinder, sample, &registers, run)
			      : 1;
	if (ret < 0 && ret != -E2BIG)
		return ret;
	if (ret)
		*run = (struct unwind_run){ .frames = unwinder->frames,
					    .end = ret > 0 ? UNWIND_HELPER_FAILED
							   : UNWIND_SPACES_COSTLY };
	unwinder->counts[run->end]++;
	if (run->end == UNWIND_NO_BINARY)
		unwinder->files[run->file - 1].samples++;
	run->file = run->end == UNWIND_NO_BINARY ? unwinder->files[run->file - 1].owner : 0;
	return 0;
}

/* ---- How stacks ended */

uint64_t unwinder_count(const struct unwinder *unwinder, enum unwind_end end)
{
	return unwinder->counts[end];
}

const char *unwind_end_text(enum unwind_end end)
{
	static const char *const texts[UNWIND_ENDS] = {
		[UNWIND_WHOLE] = "whole",
		[UNWIND_NO_BINARY] = "the binary that they end in is not here",
		[UNWIND_NO_MAPPING] = "they pass through code outside of every mapped file",
		[UNWIND_STACK_CUT] = "the recording holds too little of the stack",
		[UNWIND_NO_RULE] = "the binary that they end in does not say how to go on",
		[UNWIND_TOO_DEEP] = "they are deeper than is followed",
		[UNWIND_NO_REGISTERS] = "no registers were recorded, or of an unknown machine",
		[UNWIND_HELPER_FAILED] = "unwinding them failed",
		[UNWIND_SPACES_COSTLY] = "mappings changed between too many of them",
		[UNWIND_FILE_NEEDED] = "unwinding them failed",
	};
	return texts[end];
}

static int compare_missing(const void *left, const void *right)
{
	const struct unwind_missing *a = left, *b = right;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return (a->file > b->file) - (a->file < b->file);
}

int unwinder_missing(const struct unwinder *unwinder, struct unwind_missing **list, size_t *count)
{
	*count = 0;
	*list = calloc(unwinder->file_count + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (size_t i = 0; i < unwinder->file_count; i++)
		if (unwinder->files[i].samples)
			(*list)[(*count)++] = (struct unwind_missing){ unwinder->files[i].owner,
								       unwinder->files[i].samples };
	if (*count)
		qsort(*list, *count, sizeof(**list), compare_missing);
	return 0;
}

uint16_t unwind_machine(struct span name)
{
	if (span_equal(name, span_of_text("x86_64")) || span_equal(name, span_of_text("amd64")))
		return EM_X86_64;
	if (span_equal(name, span_of_text("aarch64")) || span_equal(name, span_of_text("arm64")))
		return EM_AARCH64;
	const char *text = name.data;
	if (name.size == 4 && text[0] == 'i' && text[2] == '8' && text[3] == '6')
		return EM_386;
	return name.size >= 3 && memcmp(text, "arm", 3) == 0 ? EM_ARM : EM_NONE;
}

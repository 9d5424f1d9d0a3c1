#include "export/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "base/hash.h"
#include "import/folded/folded_name.h"

void frames_release(struct frames *frames)
{
	number_map_release(&frames->by_procedure);
	free(frames->by_name);
	buffer_release(&frames->text);
}

static uint64_t hash_frame(const struct stack_frame *frame)
{
	uint64_t hash = hash_bytes(frame->text.data, frame->text.size);
	hash = hash_u64(hash + frame->address.vaddr);
	hash = hash_u64(hash + frame->address.image + ((uint64_t)frame->context << 32));
	return hash_u64(hash + frame->line + ((uint64_t)frame->address.kind << 32));
}

static bool equal_files(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool equal_frames(const void *rows, uint32_t position, const void *wanted)
{
	const struct stack_frame *a = &((const struct stack_frame *)rows)[position], *b = wanted;
	return span_equal(a->text, b->text) && a->line == b->line && a->context == b->context &&
	       a->address.kind == b->address.kind && a->address.image == b->address.image &&
	       a->address.vaddr == b->address.vaddr && a->address.name == b->address.name &&
	       equal_files(a->file, b->file);
}

/* Finds or adds the frame whose text is frames->text, and which is otherwise *frame. */
static int intern(struct frames *frames, struct stack_frame *frame, uint32_t *number)
{
	struct stacks *stacks = frames->stacks;
	if (buffer_failed(&frames->text))
		return -ENOMEM;
	frame->text = (struct span){ frames->text.data, frames->text.size };
	uint64_t hash = hash_frame(frame);
	*number = hash_index_find(&stacks->frame_index, hash, equal_frames, stacks->frames, frame);
	if (*number != HASH_INDEX_NONE)
		return 0;
	if (array_reserve(&stacks->frames, &stacks->frame_capacity, stacks->frame_count,
			  sizeof(*stacks->frames)) < 0 ||
	    stacks->frame_count >= STACK_NONE - 1)
		return -ENOMEM;
	frame->text.data =
		arena_copy_text(&stacks->arena, (const char *)frames->text.data, frame->text.size);
	if (!frame->text.data ||
	    hash_index_add(&stacks->frame_index, hash, (uint32_t)stacks->frame_count) < 0)
		return -ENOMEM;
	*number = (uint32_t)stacks->frame_count;
	stacks->frames[stacks->frame_count++] = *frame;
	return 0;
}

static int append(struct frame_list *list, uint32_t number)
{
	if (array_reserve(&list->numbers, &list->capacity, list->count, sizeof(*list->numbers)) < 0)
		return -ENOMEM;
	list->numbers[list->count++] = number;
	return 0;
}

/* The mark that stackcollapse-perf.pl puts behind such a name, or "". */
static const char *mark_of(const struct export_input *input, const struct procedure *procedure)
{
	if (!procedure->image)
		return "";
	switch (profile_image(input->profile, procedure->image).kind) {
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return input->options.marks & EXPORT_MARK_KERNEL ? "_[k]" : "";
	case IMAGE_JIT:
		return input->options.marks & EXPORT_MARK_JIT ? "_[j]" : "";
	}
	return "";
}

static void spell(struct frames *frames, const char *name)
{
	buffer_empty(&frames->text);
	folded_encode_name(&frames->text, span_of_text(name));
}

/* Whether code has neither name nor extent: its procedure is what no procedure of the image covers.
 */
static bool is_nameless(const struct procedure *procedure)
{
	return !procedure->named && !procedure->extent_known;
}

/* "[libc.so]" becomes "[libc.so <1234>]". */
static void spell_address(struct frames *frames, uint64_t vaddr)
{
	struct buffer *text = &frames->text;
	bool bracketed = text->size && text->data[text->size - 1] == ']';
	text->size -= bracketed;
	buffer_printf(text, " <%" PRIx64 ">%s", vaddr, bracketed ? "]" : "");
}

/* File and line at which a procedure begins, where they are known. */
static int find_source(struct frames *frames, const struct procedure *procedure,
		       struct stack_frame *frame)
{
	if (!procedure->extent_known)
		return 0;
	const struct source_frame *sources;
	const struct place *place =
		resolver_place_in_file(frames->input->resolver, procedure->image, procedure->first);
	if (!place)
		return -ENOMEM;
	size_t count = resolver_source(frames->input->resolver, place, &sources);
	if (count) {
		frame->file = sources[count - 1].file;
		frame->line = sources[count - 1].line;
	}
	return 0;
}

static int add_procedure(struct frames *frames, const struct profile_frame *address,
			 const struct place *place, struct frame_list *list)
{
	const struct procedure *procedure = place->procedure;
	unsigned marks = frames->input->options.marks;
	bool by_address = frames->grain == STACKS_BY_ADDRESS;
	bool with_address = marks & EXPORT_ADDRESSES && is_nameless(procedure);
	bool remember = !by_address && !with_address;
	uint64_t key = (uint64_t)(uintptr_t)procedure;
	uintptr_t known = remember ? (uintptr_t)number_map_find(&frames->by_procedure, key) : 0;
	if (known)
		return append(list, (uint32_t)(known - 1));
	struct stack_frame frame = { .kind = STACK_CODE, .place = place };
	if (by_address)
		frame.address = *address;
	spell(frames, procedure->name);
	if (with_address)
		spell_address(frames, address->vaddr);
	buffer_append_text(&frames->text, mark_of(frames->input, procedure));
	uint32_t number;
	int ret = frames->grain == STACKS_BY_SOURCE ? find_source(frames, procedure, &frame) : 0;
	if (ret == 0)
		ret = intern(frames, &frame, &number);
	if (ret == 0 && remember)
		ret = number_map_put(&frames->by_procedure, key, (void *)((uintptr_t)number + 1));
	return ret < 0 ? ret : append(list, number);
}

static int add_inlined(struct frames *frames, const struct place *place, struct frame_list *list)
{
	const struct source_frame *sources;
	size_t count = resolver_source(frames->input->resolver, place, &sources);
	for (size_t i = count; i-- > 0;) {
		if (!sources[i].function)
			continue;
		struct stack_frame frame = { .kind = STACK_INLINED };
		if (frames->grain == STACKS_BY_SOURCE)
			frame.file = sources[i].file;
		spell(frames, sources[i].function);
		buffer_append_text(&frames->text, "_[i]");
		uint32_t number;
		int ret = intern(frames, &frame, &number);
		if (ret == 0)
			ret = append(list, number);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int find_place(struct frames *frames, const struct profile_frame *address,
		      struct frame_list *list)
{
	const struct place *place = resolver_place(frames->input->resolver, address);
	if (!place)
		return -ENOMEM;
	int ret = add_procedure(frames, address, place, list);
	if (ret == 0 && frames->grain != STACKS_BY_ADDRESS &&
	    frames->input->options.marks & EXPORT_INLINED)
		ret = add_inlined(frames, place, list);
	return ret;
}

/* A bare name reads the same wherever it stands, unless its image gives it a mark. */
static bool is_one_frame(const struct frames *frames, const struct profile_frame *address)
{
	unsigned marks = frames->input->options.marks & (EXPORT_MARK_KERNEL | EXPORT_MARK_JIT);
	return address->name && !address->vaddr && frames->grain != STACKS_BY_ADDRESS &&
	       (!marks || !address->image);
}

int frames_of_place(struct frames *frames, const struct profile_frame *address,
		    struct frame_list *list)
{
	if (!is_one_frame(frames, address))
		return find_place(frames, address, list);
	if (!frames->by_name) {
		size_t names = frames->input->profile->bytes.count;
		frames->by_name = calloc(names + 1, sizeof(*frames->by_name));
		if (!frames->by_name)
			return -ENOMEM;
	}
	uint32_t *known = &frames->by_name[address->name];
	if (*known)
		return append(list, *known - 1);
	int ret = find_place(frames, address, list);
	if (ret == 0)
		*known = list->numbers[list->count - 1] + 1;
	return ret;
}

static void spell_number(struct buffer *text, uint64_t optional)
{
	if (optional == OPTIONAL_ABSENT)
		buffer_append_u8(text, '?');
	else
		buffer_printf(text, "%" PRIu64, optional - 1);
}

int frames_of_context(struct frames *frames, uint32_t id, uint32_t *number)
{
	enum export_root root = frames->input->options.root;
	bool by_address = frames->grain == STACKS_BY_ADDRESS;
	struct profile_context context = { 0 };
	*number = STACK_NONE;
	if (id)
		context = profile_context(frames->input->profile, id);
	struct span command = profile_context_command(&context);
	if (!by_address && (root == EXPORT_ROOT_NONE || !command.data))
		return 0;
	struct stack_frame frame = { .kind = STACK_COMMAND, .context = by_address ? id : 0 };
	buffer_empty(&frames->text);
	folded_encode_name(&frames->text, command);
	if (root == EXPORT_ROOT_PID || root == EXPORT_ROOT_TID) {
		buffer_append_u8(&frames->text, '-');
		spell_number(&frames->text, context.pid);
	}
	if (root == EXPORT_ROOT_TID) {
		buffer_append_u8(&frames->text, '/');
		spell_number(&frames->text, context.tid);
	}
	return intern(frames, &frame, number);
}

int frames_of_image(struct frames *frames, uint32_t image, uint32_t *number)
{
	struct stack_frame frame = { .kind = STACK_IMAGE };
	const char *name = resolver_image(frames->input->resolver, image);
	*number = STACK_NONE;
	if (!*name)
		return 0;
	spell(frames, name);
	return intern(frames, &frame, number);
}

/*
 * The user's part of stacks that are recorded as registers and bytes. Such samples wait
 * (perf_data_waiting.h) until the table of build-ids at the end of the file says which
 * binaries may unwind them. When they grow past what the file itself is large, they are
 * unwound with what is known by then.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "import/perf_data/perf_data_private.h"
#include "import/perf_data/perf_data_waiting.h"

#define FILES_SHOWN 3

void perf_data_release_unwinding(struct perf_unwinding *unwinding)
{
	perf_waiting_free(unwinding->waiting);
	unwinder_free(unwinding->unwinder);
}

int perf_data_wait(struct perf_data *data, const struct perf_waiting_sample *sample,
		   struct error *err)
{
	struct perf_waiting **waiting = &data->unwinding.waiting;
	if (!*waiting && !(*waiting = perf_waiting_new()))
		return error_set(err, -ENOMEM, "out of memory");
	if (perf_waiting_add(*waiting, sample) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return perf_waiting_is_full(*waiting, data->at) ? perf_data_unwind(data, err) : 0;
}

/* ---- callbacks of the unwinder, and what it needs */

/* The build-id of an image: its own, or that of user code with its path in the table. */
static struct span build_of(const struct perf_images *images, const struct perf_image *image)
{
	if (image->build_id_bytes)
		return (struct span){ image->build_id, image->build_id_bytes };
	for (size_t i = 0; i < images->build_count; i++) {
		const struct perf_build *build = &images->builds[i];
		if (build->mode != CODE_KERNEL && strcmp(build->path, image->name) == 0)
			return (struct span){ build->build_id, build->build_id_bytes };
	}
	return (struct span){ NULL, 0 };
}

static void name_file(void *context, uint32_t file, struct unwind_file *named)
{
	const struct perf_data *data = context;
	const struct perf_image *image = &data->places.images.list[file - 1];
	if (image->runtime || image->kind == IMAGE_UNKNOWN)
		return;
	named->path = span_of_text(image->name);
	named->build_id = build_of(&data->places.images, image);
	const struct perf_recording recording = perf_data_recording(data);
	named->here = perf_here_inode(&recording, image);
}

/* A file that was found by its inode alone: its image gets the build-id. */
static void found_file(void *context, uint32_t file, const struct identity *identity)
{
	struct perf_data *data = context;
	struct perf_image *image = &data->places.images.list[file - 1];
	if (build_of(&data->places.images, image).size ||
	    identity->build_id_bytes > PERF_BUILD_ID_ROOM)
		return;
	memcpy(image->build_id, identity->build_id, identity->build_id_bytes);
	image->build_id_bytes = (uint8_t)identity->build_id_bytes;
}

/* The machine, by its name in the file, or by the mask of recorded registers: perf takes 16 of arm,
 * 33 of arm64 (arch/.../include/uapi/asm/perf_regs.h). */
static uint16_t machine_of(const struct perf_data *data, uint64_t mask)
{
	struct span name = byte_pool_get(&data->names, data->machine.arch);
	if (name.size)
		return unwind_machine(name);
	if (mask == 0xffff)
		return EM_ARM;
	return mask >> 32 ? EM_AARCH64 : EM_X86_64;
}

/* Makes the unwinder; where none can be made it stays NULL, which is reported once. 0 or -ENOMEM.
 */
static int need_unwinder(struct perf_data *data)
{
	struct perf_unwinding *unwinding = &data->unwinding;
	struct error err;
	const struct unwind_options options = { .symfs = data->options->symfs,
						.perf_cache = data->options->perf_cache,
						.name_file = name_file,
						.found_file = found_file,
						.context = data };
	if (unwinding->unwinder || unwinding->unwinder_failed)
		return 0;
	int ret = unwinder_new(&options, &unwinding->unwinder, &err);
	if (ret == -ENOMEM)
		return ret;
	unwinding->unwinder_failed = ret < 0;
	if (ret < 0)
		import_report(data->options, IMPORT_WARNING, "user stacks are not unwound: %s",
			      err.text);
	return 0;
}

static int unwind_sample(struct perf_data *data, const struct process *process,
			 const struct perf_file_event *event, const struct perf_record *record)
{
	struct perf_unwinding *unwinding = &data->unwinding;
	const struct perf_sample *sample = &record->sample;
	unwinding->unwound = false;
	if (!sample->user_abi)
		return 0;
	if (need_unwinder(data) < 0)
		return -ENOMEM;
	if (!unwinding->unwinder)
		return 0;
	const struct unwind_sample wanted = {
		.machine = machine_of(data, event->layout.regs_user),
		.abi = sample->user_abi,
		.mask = event->layout.regs_user,
		.registers = sample->user_registers,
		.stack = sample->user_stack,
		.space = process->space,
	};
	int ret = unwinder_run(unwinding->unwinder, &wanted, &unwinding->run);
	unwinding->unwound = ret == 0 && unwinding->run.count > 0;
	return ret;
}

static int hand_on(void *context, const struct perf_waiting_sample *sample, struct error *err)
{
	struct perf_data *data = context;
	const struct perf_file_event *event = &data->events.list[sample->event];
	struct perf_record record;
	if (perf_record_decode(sample->record.data, sample->record.size, &event->layout, &record) <
	    0)
		return error_set(err, -EPROTO, "a sample that was kept is another now");
	if (unwind_sample(data, sample->process, event, &record) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int ret =
		perf_data_add(data, sample->process, sample->event, sample->context, &record, err);
	data->unwinding.unwound = false;
	return ret;
}

int perf_data_unwind(struct perf_data *data, struct error *err)
{
	struct perf_waiting *waiting = data->unwinding.waiting;
	return waiting ? perf_waiting_drain(waiting, hand_on, data, err) : 0;
}

const struct unwind_run *perf_data_unwound(const struct perf_data *data)
{
	return data->unwinding.unwound ? &data->unwinding.run : NULL;
}

/* ---- remarks */

static int put_missing(const struct perf_data *data, struct buffer *text)
{
	struct unwind_missing *missing;
	size_t count;
	if (unwinder_missing(data->unwinding.unwinder, &missing, &count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count && i < FILES_SHOWN; i++)
		buffer_printf(text, "%s'%s' (%" PRIu64 ")", i ? ", " : " ",
			      data->places.images.list[missing[i].file - 1].name,
			      missing[i].samples);
	if (count > FILES_SHOWN)
		buffer_printf(text, " and %zu more", count - FILES_SHOWN);
	bool unsaid = count && !build_of(&data->places.images,
					 &data->places.images.list[missing[0].file - 1])
					.size;
	buffer_append_text(text, unsaid ? "; the recording does not say of which build, so only "
					  "below --symfs its name would be enough"
					: "; --symfs names a folder to look in");
	free(missing);
	return 0;
}

void perf_data_report_unwound(const struct perf_data *data)
{
	if (!data->unwinding.unwinder)
		return;
	const struct unwinder *unwinder = data->unwinding.unwinder;
	for (enum unwind_end end = UNWIND_WHOLE + 1; end < UNWIND_FILE_NEEDED; end++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		uint64_t count = unwinder_count(unwinder, end);
		if (!count)
			continue;
		if (end == UNWIND_NO_BINARY)
			put_missing(data, &text);
		import_report(data->options, IMPORT_NOTE,
			      "%" PRIu64 " user stacks are not unwound to their root: %s%s%s",
			      count, unwind_end_text(end), text.size ? ":" : "",
			      buffer_text(&text));
	}
}

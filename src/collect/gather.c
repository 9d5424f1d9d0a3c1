#include "collect/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/small_file.h"
#include "collect/session.h"
#include "image/vdso.h"
#include "image/writer.h"
#include "profile/stash.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"

#define KALLSYMS_LIMIT (256u << 20)

struct spot {
	uint32_t image;
	uint64_t vaddr;
};

struct spots {
	struct spot *list;
	size_t count, capacity;
};

static int add_spot(struct spots *spots, uint32_t image, uint64_t vaddr)
{
	int ret = array_reserve(&spots->list, &spots->capacity, spots->count, sizeof(*spots->list));
	if (ret == 0 && image)
		spots->list[spots->count++] = (struct spot){ image, vaddr };
	return ret;
}

static int compare_spots(const void *a, const void *b)
{
	const struct spot *left = a;
	const struct spot *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* Where code was sampled, leaves and callers, and branches seen, each once, in order. */
static int list_spots(const struct session *session, struct spots *spots)
{
	const struct tally *tally = &session->tally;
	int ret = 0;
	for (size_t i = 0; i < tally->count && ret == 0; i++)
		if (!tally->places[i].gathered)
			ret = add_spot(spots, tally->places[i].image, tally->places[i].vaddr);
	const struct edge_tally *edges = &session->edges.tally;
	for (size_t i = 0; i < edges->count && ret == 0; i++) {
		const struct edge_row *edge = &edges->rows[i];
		if (edge->gathered)
			continue;
		ret = add_spot(spots, edge->from_image, edge->from_vaddr);
		if (ret == 0)
			ret = add_spot(spots, edge->to_image, edge->to_vaddr);
	}
	const struct table *nodes = profile_table(session->profile, PROFILE_NODE);
	for (size_t i = session->nodes_gathered; i < nodes->count && ret == 0; i++) {
		struct profile_frame frame = profile_node(session->profile, i + 1, NULL);
		bool returns = frame.kind == FRAME_RETURN && frame.vaddr;
		ret = add_spot(spots, frame.image, frame.vaddr - returns);
	}
	if (ret < 0)
		return ret;
	if (spots->count)
		qsort(spots->list, spots->count, sizeof(*spots->list), compare_spots);
	size_t kept = 0;
	for (size_t i = 0; i < spots->count; i++)
		if (!kept || compare_spots(&spots->list[kept - 1], &spots->list[i]))
			spots->list[kept++] = spots->list[i];
	spots->count = kept;
	return 0;
}

struct gathering {
	struct session *session;
	struct tally_translation *translation;
	bool redact;
	struct buffer kernel_text;
	struct kallsyms kallsyms;
	bool kallsyms_read;
	const struct jit *refused; /* the first whose names could not be read */
	size_t refused_count;
	uint32_t *file_of_image; /* number in the file table, by image of the session */
};

/* Only the extent stays, under a name that tells same from different and no more. */
static int redact_records(struct record_set *set, struct record_set *out)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->list[i];
		struct function_record function;
		if (record->kind != RECORD_FUNCTION || !record_get_function(record, &function))
			continue;
		char name[32];
		if (function.name.size) {
			snprintf(name, sizeof(name), "f_%016" PRIx64,
				 hash128_bytes(function.name.data, function.name.size).high);
			function.name = span_of_text(name);
		}
		int ret = record_set_add_function(out, record->first, record->last, &function);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int keep(struct gathering *gathering, uint32_t image, struct record_set *set)
{
	uint32_t translated;
	int ret = tally_translate(gathering->translation, PROFILE_IMAGE, image, &translated);
	CLEANUP(record_set_release) struct record_set redacted = { 0 };
	if (ret == 0 && gathering->redact) {
		ret = redact_records(set, &redacted);
		set = &redacted;
	}
	if (ret < 0)
		return ret;
	ret = stash_add_set(gathering->translation->to, translated, set, NULL);
	return ret == -ENOMEM ? ret : 0;
}

/*
 * What lies where we see it too has its debug file there as well: what else a process shows below
 * /usr/lib/debug is its own affair. In other roots, such as containers', theirs comes first.
 */
static int open_debug(struct session *session, const struct file *file)
{
	struct safe_file opened;
	struct debug_search search = { (pid_t)file->pid, file->owner, file->writer, NULL };
	if (!file->by_path && reader_open_debug(session->reader, &search, file->identity,
						file->path, &opened, NULL) == 0)
		return opened.fd;
	search.pid = 0;
	if (reader_open_debug(session->reader, &search, file->identity, file->path, &opened,
			      NULL) == 0)
		return opened.fd;
	return -1;
}

/* What nothing but the word of whoever serves it names could be anybody's. */
static bool names_could_be_anybodys(const struct file *file)
{
	return writer_kind(file->writer) == WRITER_MOUNTER &&
	       file->identity->content == CONTENT_NONE;
}

static int gather_file(struct gathering *gathering, uint32_t image, const uint64_t *vaddrs,
		       size_t count)
{
	struct session *session = gathering->session;
	uint32_t number = gathering->file_of_image[image];
	const struct file *file = file_table_get(&session->files, number);
	if (!file || file->state != FILE_IDENTIFIED || !session->reader ||
	    names_could_be_anybodys(file))
		return 0;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	unsigned what = gathering->redact ? GATHER_FUNCTIONS : GATHER_ALL;
	int ret;
	if (file->kind == FILE_VDSO) {
		CLEANUP(buffer_release) struct buffer bytes = { 0 };
		ret = vdso_read(&bytes, NULL);
		if (ret == 0)
			ret = reader_gather_bytes(session->reader,
						  (struct span){ bytes.data, bytes.size }, vaddrs,
						  count, what, &set, NULL, NULL);
	} else {
		CLEANUP(close_fd) int fd = file_table_open(&session->files, number);
		CLEANUP(close_fd) int debug_fd = fd < 0 ? -1 : open_debug(session, file);
		ret = fd < 0 ? -ENOENT
			     : reader_gather(session->reader, fd, debug_fd, vaddrs, count, what,
					     &set, NULL, NULL);
	}
	if (ret == -ENOMEM)
		return ret;
	return keep(gathering, image, &set);
}

static int need_kallsyms(struct gathering *gathering)
{
	if (gathering->kallsyms_read)
		return 0;
	gathering->kallsyms_read = true;
	int ret = small_file_read("/proc/kallsyms", KALLSYMS_LIMIT, &gathering->kernel_text);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	return kallsyms_parse(
		(struct span){ gathering->kernel_text.data, gathering->kernel_text.size },
		&gathering->kallsyms);
}

static int gather_kernel(struct gathering *gathering, uint32_t image, const uint64_t *vaddrs,
			 size_t count)
{
	const struct kernel_range *range = kernel_map_of_image(&gathering->session->kernel, image);
	int ret = range ? need_kallsyms(gathering) : 0;
	if (!range || ret < 0)
		return ret;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	bool is_there;
	ret = kernel_range_records(range, &gathering->kallsyms, vaddrs, count, &set, &is_there);
	if (ret == 0 && is_there && !gathering->redact)
		ret = kernel_code_add(&gathering->session->kernel_code, &gathering->kallsyms,
				      range->start, &set);
	return ret < 0 ? ret : keep(gathering, image, &set);
}

static int gather_runtime(struct gathering *gathering, uint32_t image, const uint64_t *vaddrs,
			  size_t count)
{
	struct session *session = gathering->session;
	struct jit *jit = number_map_find(&session->jits.by_image, image);
	if (!jit)
		return 0;
	CLEANUP(record_set_release) struct record_set set = { 0 };
	int ret = jit_gather(&session->jits, jit, vaddrs, count, &set);
	if (jit->refused.code && !jit->refused_told) {
		jit->refused_told = true;
		gathering->refused = gathering->refused ? gathering->refused : jit;
		gathering->refused_count++;
	}
	return ret < 0 ? ret : keep(gathering, image, &set);
}

static void tell_refused(const struct gathering *gathering)
{
	const struct collect_options *options = gathering->session->options;
	char text[1200];
	if (!gathering->refused_count || !options->note)
		return;
	size_t length = (size_t)snprintf(text, sizeof(text),
					 "names of code that process %" PRIu32
					 " made at run time are missing: %s",
					 gathering->refused->pid, gathering->refused->refused.text);
	if (gathering->refused_count > 1 && length < sizeof(text))
		snprintf(text + length, sizeof(text) - length, "; %zu more processes like it",
			 gathering->refused_count - 1);
	options->note(options->note_context, COLLECT_WARNING, text);
}

static int gather_image(struct gathering *gathering, uint32_t image, const uint64_t *vaddrs,
			size_t count)
{
	switch (profile_image(gathering->session->profile, image).kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		return gather_file(gathering, image, vaddrs, count);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return gather_kernel(gathering, image, vaddrs, count);
	case IMAGE_JIT:
		return gather_runtime(gathering, image, vaddrs, count);
	default:
		return 0;
	}
}

static int gather_all(struct gathering *gathering, const struct spots *spots)
{
	CLEANUP(free_pointer) uint64_t *vaddrs = calloc(spots->count + 1, sizeof(*vaddrs));
	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < spots->count;) {
		uint32_t image = spots->list[i].image;
		size_t count = 0;
		while (i < spots->count && spots->list[i].image == image)
			vaddrs[count++] = spots->list[i++].vaddr;
		int ret = gather_image(gathering, image, vaddrs, count);
		/* Sampling goes on meanwhile, and the rings must not overflow. */
		if (ret == 0)
			ret = session_copy_rings(gathering->session);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int gather_stash(struct session *session, struct tally_translation *translation, bool redact)
{
	struct spots spots = { 0 };
	struct gathering gathering = { .session = session,
				       .translation = translation,
				       .redact = redact };
	size_t images = profile_table(session->profile, PROFILE_IMAGE)->count;
	gathering.file_of_image = calloc(images + 1, sizeof(uint32_t));
	int ret = gathering.file_of_image ? list_spots(session, &spots) : -ENOMEM;
	for (size_t i = 0; i < session->files.count && ret == 0; i++) {
		const struct file *file = session->files.files[i];
		uint32_t *known = &gathering.file_of_image[file->image];
		/* Of several files of one build, the one of which something is kept. */
		if (file->image && (!*known || file->fd >= 0))
			*known = (uint32_t)i + 1;
	}
	if (ret == 0)
		ret = gather_all(&gathering, &spots);
	tell_refused(&gathering);
	kallsyms_release(&gathering.kallsyms);
	buffer_release(&gathering.kernel_text);
	free(gathering.file_of_image);
	free(spots.list);
	for (size_t i = 0; i < session->tally.count && ret == 0; i++)
		session->tally.places[i].gathered = true;
	for (size_t i = 0; i < session->edges.tally.count && ret == 0; i++)
		session->edges.tally.rows[i].gathered = true;
	file_table_names_read(&session->files);
	jit_table_names_read(&session->jits);
	if (ret == 0)
		session->nodes_gathered = profile_table(session->profile, PROFILE_NODE)->count;
	return ret;
}

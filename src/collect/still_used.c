#include "collect/still_used.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/session.h"

static void find_images_of_samples(struct still_used *used, const struct session *session)
{
	const struct tally *tally = &session->tally;
	const struct edge_tally *edges = &session->edges.tally;
	for (size_t i = 0; i < tally->count; i++)
		used->images[tally->places[i].image] = true;
	for (size_t i = 0; i < tally->cells.node_count; i++)
		used->images[tally->cells.nodes[i].image_kind / 2] = true;
	for (size_t i = 0; i < edges->count; i++) {
		used->images[edges->rows[i].from_image] = true;
		used->images[edges->rows[i].to_image] = true;
	}
}

static void find_images_of_spots(struct still_used *used, const struct code_spots *spots)
{
	for (size_t i = 0; i < spots->count; i++)
		used->images[spots->list[i].image] = true;
}

static void find_mapped(struct still_used *used, const struct address_space *space)
{
	struct mapping_place place = { 0 };
	const struct mapping *mapping;
	while (space && (mapping = address_space_next(space, &place)))
		used->files[mapping->file] = true;
}

static void find_of_processes(struct still_used *used, const struct session *session)
{
	size_t position = 0;
	for (const struct process *process;
	     (process = number_map_next(&session->processes.processes, &position));) {
		used->images[process->runtime_image] = true;
		find_mapped(used, process->space);
		find_mapped(used, process->former);
	}
}

static void find_files_of_batches(struct still_used *used, struct edges *edges)
{
	const struct edge_batch *batch;
	for (size_t i = 0; (batch = edges_batch(edges, i)); i++)
		for (size_t space = 0; space < batch->space_count; space++)
			find_mapped(used, batch->spaces[space]);
}

/* `owed`: images of code whose names are, for which a file of theirs is read. */
static void find_files_of_samples(struct still_used *used, const struct file_table *files,
				  const bool *owed)
{
	for (uint32_t number = 1; number <= files->count; number++) {
		const struct file *file = file_table_get(files, number);
		if (file && (file->recent || (file->image && owed[file->image])))
			used->files[number] = true;
	}
	const uint32_t always[] = { files->anonymous, files->vdso, files->vdso_narrow,
				    files->vsyscall, files->beyond };
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		used->files[always[i]] = true;
}

/* Of an image's path; 0: of any. */
static uint64_t path_key(uint32_t image, uint32_t path)
{
	return (uint64_t)image << 32 | path;
}

/* The paths of the files that are used, which are marked. */
static int find_paths(struct still_used *used, const struct session *session)
{
	int ret = 0;
	for (uint32_t number = 1; number <= session->files.count && ret == 0; number++) {
		struct file *file = file_table_get(&session->files, number);
		uint32_t path;
		if (!file || !used->files[number] || !file->image ||
		    !byte_pool_find(&session->profile->bytes, span_of_text(file->path), &path))
			continue;
		ret = number_map_put(&used->paths, path_key(file->image, 0), file);
		if (ret == 0)
			ret = number_map_put(&used->paths, path_key(file->image, path), file);
	}
	return ret;
}

bool still_used_path(const struct still_used *used, uint32_t image, uint32_t path)
{
	return !number_map_find(&used->paths, path_key(image, 0)) ||
	       number_map_find(&used->paths, path_key(image, path));
}

int still_used_find(struct still_used *used, struct session *session)
{
	size_t images = profile_table(session->profile, PROFILE_IMAGE)->count;
	*used = (struct still_used){ .images = calloc(images + 1, sizeof(bool)),
				     .files = calloc(session->files.count + 1, sizeof(bool)) };
	if (!used->images || !used->files)
		return -ENOMEM;
	find_images_of_spots(used, &session->owed);
	find_files_of_samples(used, &session->files, used->images); /* so far: of what is owed */
	find_images_of_spots(used, &session->named);
	find_images_of_samples(used, session);
	find_of_processes(used, session);
	find_files_of_batches(used, &session->edges);
	kernel_counts_mark_files(&session->counted, used->files);
	int ret = jit_table_mark_jitdumps(&session->jits, used->images, used->files);
	return ret < 0 ? ret : find_paths(used, session);
}

void still_used_release(struct still_used *used)
{
	free(used->images);
	free(used->files);
	number_map_release(&used->paths);
	*used = (struct still_used){ 0 };
}

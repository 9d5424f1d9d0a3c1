#include "edge_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/perf_event.h>

void edge_scene_map_all(struct edge_scene *scene)
{
	struct own_mapping mappings[OWN_MAPPINGS];
	scene->space = address_space_new();
	size_t count = own_mappings_read(mappings);
	for (size_t i = 0; i < count; i++) {
		struct mapping mapping = mappings[i].mapping;
		struct file_hint hint = { .pid = (uint32_t)getpid(),
					  .start = mapping.start,
					  .end = mapping.end,
					  .major = mappings[i].major,
					  .minor = mappings[i].minor,
					  .inode = mappings[i].inode,
					  .path = span_of_text(mappings[i].path) };
		uint32_t image;
		assert_int_equal(file_table_find(&scene->files, &hint, &mapping.file), 0);
		/* As a sample in it does: of a file on another mount than ours a copy is kept. */
		assert_int_equal(file_table_image(&scene->files, mapping.file, &image), 0);
		assert_int_equal(address_space_add(&scene->space, &mapping), 0);
	}
}

struct edge_scene *edge_scene_new(void)
{
	struct edge_scene *scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	scene->profile = profile_new();
	assert_int_equal(reader_new(NULL, &scene->reader, NULL), 0);
	assert_int_equal(file_table_init(&scene->files, scene->profile, scene->reader, NULL), 0);
	shares_init(&scene->shares, &(struct share_limits){ 0 });
	scene->watch = (struct helper_watch){ .wake_fd = -1, .context = scene };
	const struct edges_options options = { &scene->files, &scene->shares, &scene->watch, 1 };
	assert_int_equal(edges_init(&scene->edges, &options, NULL), 0);
	edge_scene_map_all(scene);
	scene->registers[own_pc_at] = (uintptr_t)own_branch;
	scene->sample = (struct perf_sample){
		.ip = (uintptr_t)own_branch,
		.user_abi = PERF_SAMPLE_REGS_ABI_64,
		.user_registers = { (const uint8_t *)scene->registers,
				    (uint64_t)__builtin_popcountll(scene->edges.registers) },
	};
	return scene;
}

void edge_scene_free(struct edge_scene *scene)
{
	edges_release(&scene->edges);
	address_space_drop(scene->space);
	file_table_release(&scene->files);
	reader_free(scene->reader);
	profile_free(scene->profile);
	shares_release(&scene->shares);
	free(scene);
}

void edge_scene_take(struct edge_scene *scene, uint64_t argument, double allowance_ns)
{
	const struct edge_waiting waiting = {
		.sampler = 0, .event = 1, .context = 2, .share = scene->share
	};
	scene->registers[own_argument_at] = argument;
	assert_int_equal(edges_add_sample(&scene->edges, &waiting, &scene->sample, scene->blocks,
					  scene->space, allowance_ns),
			 0);
}

void edge_scene_serve(struct edge_scene *scene, enum edges_patience patience)
{
	assert_int_equal(edges_service(&scene->edges, patience), 0);
}

uint64_t edge_scene_seen(const struct edge_scene *scene, const char *from, const char *to)
{
	uint64_t count = 0;
	for (size_t i = 0; i < scene->edges.tally.count; i++) {
		const struct edge_row *row = &scene->edges.tally.rows[i];
		uint64_t first = 0;
		const struct mapping *mapping =
			address_space_find(scene->space, (uintptr_t)own_branch);
		const struct file *file = file_table_get(&scene->files, mapping->file);
		assert_true(identity_vaddr_of_offset(
			file->identity, (uintptr_t)own_branch - mapping->start + mapping->offset,
			&first));
		if (row->from_image == file->image && row->to_image == file->image &&
		    row->from_vaddr == first + (uint64_t)(from - own_branch) &&
		    row->to_vaddr == first + (uint64_t)(to - own_branch)) {
			assert_int_equal(row->event, 1);
			assert_int_equal(row->context, 2);
			count += row->count;
		}
	}
	return count;
}

#include "export/dso.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/visible_text.h"
#include "image/deleted_path.h"
#include "profile/image_paths.h"
#include "profile/profile.h"

void dso_names_release(struct dso_names *names)
{
	free(names->names);
	arena_release(&names->arena);
	*names = (struct dso_names){ 0 };
}

/* Cuts the last word off `text` and returns it. */
static struct span last_word(struct span *text)
{
	const char *bytes = text->data;
	const char *blank = text->size ? memrchr(bytes, ' ', text->size) : NULL;
	size_t start = blank ? (size_t)(blank - bytes) + 1 : 0;
	struct span word = { bytes + start, text->size - start };
	text->size = blank ? start - 1 : 0;
	return word;
}

static bool is_number(struct span word)
{
	for (size_t i = 0; i < word.size; i++)
		if (((const char *)word.data)[i] < '0' || ((const char *)word.data)[i] > '9')
			return false;
	return word.size;
}

/* The PID in "comm pid start boot", as JIT images are named, or "comm pid start"; else nothing. */
static struct span pid_of(struct span name)
{
	struct span start = last_word(&name), pid;
	if (!is_number(start))
		start = last_word(&name);
	pid = last_word(&name);
	return is_number(start) && is_number(pid) && name.size ? pid : (struct span){ NULL, 0 };
}

static const char *name_jit(struct arena *arena, struct span name)
{
	struct span pid = pid_of(name);
	if (pid.size)
		return arena_printf(arena, "/tmp/perf-%.*s.map", (int)pid.size,
				    (const char *)pid.data);
	const char *mark = span_starts_with(name, "perf-") ? "/tmp/"
			   : span_starts_with(name, "/") || span_starts_with(name, "[JIT]")
				   ? ""
				   : "[JIT] ";
	return arena_printf(arena, "%s%.*s", mark, (int)name.size, (const char *)name.data);
}

static const char *name_image(struct dso_names *names, const struct profile_image *image,
			      struct span path, const char *shown)
{
	struct arena *arena = &names->arena;
	struct span name = image->name;
	switch (image->kind) {
	case IMAGE_FILE:
	case IMAGE_NAME:
		if (!path.size)
			path = name;
		path = deleted_path_strip(path);
		return path.size ? arena_copy_text(arena, path.data, path.size)
		       : *shown	 ? shown
				 : "[unknown]";
	case IMAGE_KERNEL:
		return "[kernel.kallsyms]";
	case IMAGE_MODULE:
		return name.size ? arena_printf(arena, "[%.*s]", (int)name.size,
						(const char *)name.data)
				 : "[module]";
	case IMAGE_VDSO:
		return "[vdso]";
	case IMAGE_BPF:
		return arena_printf(arena, "%s%.*s",
				    span_starts_with(name, "bpf_") ? "" : "bpf_prog_",
				    (int)name.size, name.size ? (const char *)name.data : "");
	case IMAGE_JIT:
		return name_jit(arena, name);
	default:
		return "[unknown]";
	}
}

/* The name as one word, in which nothing steers a terminal. */
static const char *as_word(struct arena *arena, const char *name)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	text_append_safe(&safe, *name ? name : "_", *name ? strlen(name) : 1);
	for (size_t i = 0; i < safe.size; i++)
		if (safe.data[i] == ' ')
			safe.data[i] = '_';
	return buffer_failed(&safe) ? NULL
				    : arena_copy_text(arena, (const char *)safe.data, safe.size);
}

int dso_names_init(struct dso_names *names, const struct profile *profile,
		   struct resolver *resolver)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(image_paths_release) struct image_paths paths;
	int ret = image_paths_init(&paths, profile);
	*names = (struct dso_names){ .count = count };
	names->names = calloc(count + 1, sizeof(*names->names));
	if (!names->names || ret < 0)
		return -ENOMEM;
	names->names[0] = "[unknown]";
	for (size_t id = 1; id <= count; id++) {
		const struct profile_image image = profile_image(profile, id);
		const char *name = name_image(names, &image, image_paths_best(&paths, id),
					      resolver_image(resolver, (uint32_t)id));
		names->names[id] = name ? as_word(&names->arena, name) : NULL;
		if (!names->names[id])
			return -ENOMEM;
	}
	return 0;
}

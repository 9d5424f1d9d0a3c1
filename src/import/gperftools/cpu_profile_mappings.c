#include "import/gperftools/cpu_profile_mappings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "import/code/mapped_image.h"
#include "import/gperftools/cpu_profile_file.h"
#include "import/text/text_lines.h"

struct cpu_variable { /* "build=/path": $build stands for the path */
	struct span name, value;
};

int cpu_mappings_init(struct cpu_mappings *mappings)
{
	*mappings = (struct cpu_mappings){ .space = address_space_new() };
	return mappings->space ? 0 : -ENOMEM;
}

void cpu_mappings_release(struct cpu_mappings *mappings)
{
	address_space_drop(mappings->space);
	free(mappings->variables);
	hash_index_release(&mappings->variable_index);
	*mappings = (struct cpu_mappings){ 0 };
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* As much of a text's start as may be a variable's name. */
static struct span name_at_start(struct span text)
{
	const char *start = text.data;
	size_t size = 0;
	while (size < text.size && in_name(start[size]))
		size++;
	return (struct span){ start, size };
}

static bool variable_equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct cpu_variable *)rows)[position].name,
			  *(const struct span *)wanted);
}

static struct cpu_variable *find_variable(const struct cpu_mappings *mappings, struct span name)
{
	uint32_t position =
		hash_index_find(&mappings->variable_index, hash_bytes(name.data, name.size),
				variable_equal, mappings->variables, &name);
	return position == HASH_INDEX_NONE ? NULL : &mappings->variables[position];
}

/* A later line replaces an earlier one. What is longer than any path is left out: each mapping may
 * have it. */
static int add_variable(struct cpu_mappings *mappings, struct span line)
{
	const char *text = line.data;
	const struct span name = name_at_start(line);
	if (name.size == 0 || name.size == line.size || text[name.size] != '=' ||
	    line.size - name.size > PATH_MAX)
		return 0;
	const struct span value = { text + name.size + 1, line.size - name.size - 1 };
	struct cpu_variable *known = find_variable(mappings, name);
	if (known) {
		known->value = value;
		return 0;
	}
	if (array_reserve(&mappings->variables, &mappings->variable_capacity,
			  mappings->variable_count, sizeof(*mappings->variables)) < 0)
		return -ENOMEM;
	mappings->variables[mappings->variable_count] = (struct cpu_variable){ name, value };
	return hash_index_add(&mappings->variable_index, hash_bytes(name.data, name.size),
			      (uint32_t)mappings->variable_count++);
}

/* Appends a path, with the variable's value for a "$build" at its start. */
static void append_path(const struct cpu_mappings *mappings, struct span path, struct buffer *out)
{
	const char *text = path.data;
	if (path.size && text[0] == '$') {
		struct span name = name_at_start((struct span){ text + 1, path.size - 1 });
		const struct cpu_variable *variable = find_variable(mappings, name);
		size_t passed = variable ? 1 + name.size : 0;
		if (variable)
			buffer_append(out, variable->value.data, variable->value.size);
		path = (struct span){ text + passed, path.size - passed };
	}
	buffer_append(out, path.data, path.size);
}

static int take_line(struct cpu_mappings *mappings, struct span line, struct profile *profile)
{
	struct cpu_mapping parsed;
	if (!cpu_mapping_parse(line, &parsed))
		return add_variable(mappings, line);
	if (!parsed.executable)
		return 0;
	CLEANUP(buffer_release) struct buffer path = { 0 };
	append_path(mappings, parsed.path, &path);
	struct mapping mapping = { parsed.start, parsed.end, parsed.offset, 0 };
	if (buffer_failed(&path) || mapped_image_add(profile, (struct span){ path.data, path.size },
						     (struct span){ NULL, 0 }, &mapping.file) < 0)
		return -ENOMEM;
	int ret = address_space_add(&mappings->space, &mapping);
	mappings->cut |= ret == -E2BIG;
	return ret == -E2BIG ? 0 : ret;
}

int cpu_mappings_read(struct cpu_mappings *mappings, struct span text, struct profile *profile)
{
	struct span line;
	int ret = 0;
	while (ret == 0 && text_lines_cut(&text, &line))
		ret = take_line(mappings, line, profile);
	return ret;
}

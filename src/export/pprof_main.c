#include "export/pprof_main.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/dso.h"
#include "export/stacks.h"
#include "profile/profile.h"

#define COMM_BYTES 15 /* the kernel cuts a command's name to these: TASK_COMM_LEN - 1 */

/* How likely an image is the main binary, before its samples count. */
enum likeness {
	LIKE_NOTHING, /* the kernel, a library, or no file */
	LIKE_FILE,
	LIKE_BEGINNING, /* the command's name and more */
	LIKE_NAME,
};

/* The estimates of the first event, by context and by the image of the leaf. */
struct weights {
	double *of_context, *of_image;
};

static void weights_release(struct weights *weights)
{
	free(weights->of_context);
	free(weights->of_image);
}

static void weigh(struct stacks *stacks, struct weights *weights)
{
	for (size_t i = 0; i < stacks->line_count; i++) {
		size_t depth;
		const uint32_t *path = stacks_path(stacks, i, &depth);
		double weight = (double)stacks_cells(stacks, i)[0].estimate;
		const struct stack_frame *first = depth ? &stacks->frames[path[0]] : NULL;
		const struct stack_frame *leaf = depth ? &stacks->frames[path[depth - 1]] : NULL;
		if (first && first->kind == STACK_COMMAND)
			weights->of_context[first->context] += weight;
		if (leaf && leaf->kind == STACK_CODE)
			weights->of_image[leaf->address.image] += weight;
	}
}

struct command {
	struct span name;
	double weight;
};

static int by_name(const void *left, const void *right)
{
	const struct command *a = left, *b = right;
	size_t size = a->name.size < b->name.size ? a->name.size : b->name.size;
	int order = memcmp(a->name.data, b->name.data, size);
	return order ? order : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

/* The name of processes with the largest estimate; empty when no name is known. */
static int heaviest_command(const struct profile *profile, const struct weights *weights,
			    struct span *name)
{
	size_t contexts = profile_table(profile, PROFILE_CONTEXT)->count, count = 0;
	CLEANUP(free_pointer) struct command *commands = calloc(contexts + 1, sizeof(*commands));
	double most = 0;
	*name = (struct span){ NULL, 0 };
	if (!commands)
		return -ENOMEM;
	for (size_t id = 1; id <= contexts; id++) {
		struct span comm = profile_context(profile, id).comm;
		if (comm.size && weights->of_context[id] > 0)
			commands[count++] = (struct command){ comm, weights->of_context[id] };
	}
	if (count)
		qsort(commands, count, sizeof(*commands), by_name);
	for (size_t i = 0; i < count;) {
		size_t first = i;
		double sum = 0;
		for (; i < count && by_name(&commands[i], &commands[first]) == 0; i++)
			sum += commands[i].weight;
		if (sum > most) {
			most = sum;
			*name = commands[first].name;
		}
	}
	return 0;
}

static bool is_library(const char *name)
{
	const char *found = strstr(name, ".so");
	return found && (!found[3] || found[3] == '.' || found[3] == '-' || found[3] == '_');
}

static enum likeness likeness_of(const struct profile *profile, uint32_t id, const char *path,
				 struct span command)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	uint64_t kind = profile_image(profile, id).kind;
	if ((kind != IMAGE_FILE && kind != IMAGE_NAME) || is_library(name) || *name == '[')
		return LIKE_NOTHING;
	size_t size = strlen(name); /* a stranger's command may hold a NUL */
	if (!command.size || size < command.size || memcmp(name, command.data, command.size) != 0)
		return LIKE_FILE;
	return size == command.size || command.size >= COMM_BYTES ? LIKE_NAME : LIKE_BEGINNING;
}

int pprof_main_image(const struct profile *profile, struct stacks *stacks,
		     const struct dso_names *names, const uint64_t *limits, uint32_t *id)
{
	size_t images = profile_table(profile, PROFILE_IMAGE)->count;
	size_t contexts = profile_table(profile, PROFILE_CONTEXT)->count;
	CLEANUP(weights_release)
	struct weights weights = { calloc(contexts + 1, sizeof(double)),
				   calloc(images + 1, sizeof(double)) };
	struct span command;
	enum likeness best = LIKE_NOTHING;
	*id = 0;
	if (!weights.of_context || !weights.of_image)
		return -ENOMEM;
	weigh(stacks, &weights);
	int ret = heaviest_command(profile, &weights, &command);
	for (uint32_t i = 1; ret == 0 && i <= images; i++) {
		if (!limits[i])
			continue;
		enum likeness likeness = likeness_of(profile, i, names->names[i], command);
		if (*id && (likeness < best ||
			    (likeness == best && weights.of_image[i] <= weights.of_image[*id])))
			continue;
		best = likeness;
		*id = i;
	}
	return ret;
}

#include "collect/kept_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/deleted_path.h"
#include "image/process_table.h"
#include "profile/context_patterns.h"

enum kept_kind { KEPT_COMMAND, KEPT_IMAGE, KEPT_CGROUP };

struct kept_choice {
	enum kept_kind kind;
	const char *pattern;
	char *leads_to; /* the file that the path of an image leads to here, or NULL */
};

#define IMAGE	"image:"
#define CGROUP	"cgroup:"

static struct kept_choice read_choice(const char *text)
{
	if (strncmp(text, IMAGE, strlen(IMAGE)) == 0)
		return (struct kept_choice){ KEPT_IMAGE, text + strlen(IMAGE), NULL };
	if (strncmp(text, CGROUP, strlen(CGROUP)) == 0)
		return (struct kept_choice){ KEPT_CGROUP, text + strlen(CGROUP), NULL };
	return (struct kept_choice){ KEPT_COMMAND, text, NULL };
}

static int check_choice(const struct kept_choice *choice, struct error *err)
{
	const char *pattern = choice->pattern;
	bool path = choice->kind != KEPT_COMMAND;
	if (!*pattern)
		return error_set(err, -EINVAL, "no %s is called ''",
				 choice->kind == KEPT_IMAGE    ? "image"
				 : choice->kind == KEPT_CGROUP ? "control group"
							       : "command");
	if (path && *pattern != '/' && *pattern != '*')
		return error_set(err, -EINVAL, "the path '%s' does not begin with '/'", pattern);
	if (!path && !pattern_is_glob(pattern) && strlen(pattern) >= PROCESS_COMM_SIZE)
		return error_set(
			err, -EINVAL,
			"no command has a name of more than %d bytes; '%s' is '%.*s' there",
			PROCESS_COMM_SIZE - 1, pattern, PROCESS_COMM_SIZE - 1, pattern);
	return 0;
}

int kept_processes_init(struct kept_processes *kept, const char *const *texts, size_t count,
			struct error *err)
{
	*kept = (struct kept_processes){ .choices = calloc(count + 1, sizeof(*kept->choices)) };
	if (!kept->choices)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		struct kept_choice *choice = &kept->choices[i];
		*choice = read_choice(texts[i]);
		int ret = check_choice(choice, err);
		if (ret < 0) {
			kept_processes_release(kept);
			return ret;
		}
		kept->count++;
		if (choice->kind != KEPT_IMAGE)
			continue;
		kept->images = true;
		choice->leads_to = realpath(choice->pattern, NULL);
	}
	return 0;
}

void kept_processes_release(struct kept_processes *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		free(kept->choices[i].leads_to);
	free(kept->choices);
	*kept = (struct kept_processes){ 0 };
}

bool kept_processes_map(const struct kept_processes *kept, struct process *process,
			struct span path)
{
	if (!kept->images || process->kept)
		return false;
	path = deleted_path_strip(path);
	for (size_t i = 0; i < kept->count && !process->kept; i++) {
		const struct kept_choice *choice = &kept->choices[i];
		process->kept =
			choice->kind == KEPT_IMAGE &&
			(pattern_matches(choice->pattern, path) ||
			 (choice->leads_to && span_equal(path, span_of_text(choice->leads_to))));
	}
	if (process->kept)
		process->context = 0; /* is another one from here on */
	return process->kept;
}

bool kept_processes_have(const struct kept_processes *kept, struct span comm, struct span cgroup,
			 bool mapped)
{
	for (size_t i = 0; i < kept->count && !mapped; i++) {
		const struct kept_choice *choice = &kept->choices[i];
		if (choice->kind == KEPT_COMMAND)
			mapped = pattern_matches(choice->pattern, comm);
		if (choice->kind == KEPT_CGROUP)
			mapped = pattern_matches_cgroup(choice->pattern, cgroup);
	}
	return mapped;
}

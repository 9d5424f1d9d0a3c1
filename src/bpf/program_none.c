#include "bpf/program.h"

#include <errno.h>

#include "base/error.h"

/* program.h without programs: of option bpf=off. What is never opened has nothing to run. */

int program_object_refused(const struct program_object_kind *kind, int error, struct error *err)
{
	return error_set(err, error, "%s takes a BPF program, and this culprit was built without",
			 kind->purpose);
}

int program_object_load(const struct program_object_kind *kind, struct bpf_object **object,
			struct error *err)
{
	*object = NULL;
	return program_object_refused(kind, -EOPNOTSUPP, err);
}

void program_object_close(struct bpf_object *object)
{
	(void)object;
}

int program_object_program(const struct bpf_object *object, const char *name)
{
	(void)object;
	(void)name;
	return -EOPNOTSUPP;
}

int program_object_map(const struct bpf_object *object, const char *name)
{
	(void)object;
	(void)name;
	return -EOPNOTSUPP;
}

int program_run(int program_fd, void *context, size_t size)
{
	(void)program_fd;
	(void)context;
	(void)size;
	return -EOPNOTSUPP;
}

int program_map_set(int map_fd, uint32_t index, uint32_t value)
{
	(void)map_fd;
	(void)index;
	(void)value;
	return -EOPNOTSUPP;
}

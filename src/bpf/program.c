#include "bpf/program.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/span.h"
#include "bpf/program_time.h"
#include "bpf_objects.h"

static struct span find_bytes(const char *name)
{
	for (size_t i = 0; i < sizeof(bpf_objects) / sizeof(bpf_objects[0]); i++)
		if (!strcmp(bpf_objects[i].name, name))
			return (struct span){ (const char *)bpf_objects[i].bytes,
					      bpf_objects[i].size };
	return (struct span){ NULL, 0 };
}

static bool has(cap_t capabilities, cap_value_t wanted)
{
	cap_flag_value_t value = CAP_CLEAR;
	return cap_get_flag(capabilities, wanted, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
}

/* Whether this process has what loading programs takes (capabilities(7)). */
static bool has_rights(void)
{
	cap_t capabilities = cap_get_proc();
	bool all = capabilities && (has(capabilities, CAP_SYS_ADMIN) ||
				    (has(capabilities, CAP_BPF) && has(capabilities, CAP_PERFMON)));
	cap_free(capabilities);
	return all;
}

int program_object_refused(const struct program_object_kind *kind, int error, struct error *err)
{
	switch (-error) {
	case EPERM:
		if (!has_rights())
			return error_set(err, error, "%s takes CAP_BPF and CAP_PERFMON",
					 kind->purpose);
		return error_set(
			err, error,
			"%s takes a BPF program, and bpf(2) is forbidden here, by a seccomp "
			"filter, a security module or a user namespace",
			kind->purpose);
	case ENOSYS:
		return error_set(err, error,
				 "%s takes a BPF program, and this kernel is built without",
				 kind->purpose);
	case EMFILE:
	case ENFILE:
		return error_set(err, error, "%s takes a BPF program, which cannot be opened: %s",
				 kind->purpose, strerror(-error));
	case ENOMEM:
		return error_set(err, error, "%s takes more memory for a BPF program than is left",
				 kind->purpose);
	default:
		return error_set(err, error,
				 "%s takes a BPF program that this kernel does not load (%s; Linux "
				 "%s and later can)",
				 kind->purpose, strerror(-error), kind->linux_version);
	}
}

/* Before Linux 5.11 maps count as locked memory: no limit meanwhile, where that is allowed. libbpf
 * would leave it so, and commands inherit it. */
static int load(struct bpf_object *object)
{
	struct rlimit before, none = { RLIM_INFINITY, RLIM_INFINITY };
	bool known = getrlimit(RLIMIT_MEMLOCK, &before) == 0;
	if (known)
		setrlimit(RLIMIT_MEMLOCK, &none);
	int ret = bpf_object__load(object);
	if (known)
		setrlimit(RLIMIT_MEMLOCK, &before);
	return ret;
}

static int apply(const struct program_object_settings *settings, struct bpf_object *object)
{
	int ret = 0;
	if (settings->constants)
		ret = bpf_map__set_initial_value(bpf_object__find_map_by_name(object, ".rodata"),
						 settings->constants, settings->constants_size);
	for (size_t i = 0; i < settings->size_count && ret == 0; i++)
		ret = bpf_map__set_max_entries(
			bpf_object__find_map_by_name(object, settings->sizes[i].map),
			settings->sizes[i].entries);
	return ret;
}

int program_object_load(const struct program_object_kind *kind,
			const struct program_object_settings *settings, struct bpf_object **object,
			struct error *err)
{
	struct span bytes = find_bytes(kind->name);
	*object = NULL;
	if (!bytes.size)
		return error_set(err, -EOPNOTSUPP,
				 "%s takes a BPF program, and this culprit was built without",
				 kind->purpose);
	libbpf_set_print(NULL);
	struct bpf_object *made = bpf_object__open_mem(bytes.data, bytes.size, NULL);
	if (!made)
		return program_object_refused(kind, -errno, err);
	int ret = settings ? apply(settings, made) : 0;
	if (ret == 0)
		ret = load(made);
	if (ret < 0) {
		bpf_object__close(made);
		return program_object_refused(kind, ret, err);
	}
	*object = made;
	return 0;
}

void program_object_close(struct bpf_object *object)
{
	bpf_object__close(object);
}

int program_object_program(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	assert(program);
	return bpf_program__fd(program);
}

int program_object_map(const struct bpf_object *object, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	assert(map);
	return bpf_map__fd(map);
}

int program_run(int program_fd, void *context, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = (uint32_t)size);
	return bpf_prog_test_run_opts(program_fd, &options);
}

int program_map_set(int map_fd, uint32_t index, uint32_t value)
{
	return bpf_map_update_elem(map_fd, &index, &value, BPF_ANY);
}

int program_attach(int program_fd, int event_fd, uint64_t number)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = number);
	return bpf_link_create(program_fd, event_fd, BPF_PERF_EVENT, &options);
}

void program_time_add(struct program_time *sum, const struct program_time *more)
{
	uint64_t most_ns = __atomic_load_n(&more->most_ns, __ATOMIC_RELAXED);
	sum->samples += __atomic_load_n(&more->samples, __ATOMIC_RELAXED);
	sum->ns += __atomic_load_n(&more->ns, __ATOMIC_RELAXED);
	if (most_ns > sum->most_ns)
		sum->most_ns = most_ns;
}

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collect/cgroup.h"
#include "profile/cgroup_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether it is a part of the other one. */
static bool is_within(struct span part, struct span whole)
{
	const uint8_t *begin = whole.data, *at = part.data;
	return !part.data || (at >= begin && at + part.size <= begin + whole.size);
}

static void judge_path(struct span path)
{
	struct span container = cgroup_container(path);
	struct service_name service = cgroup_service(path);
	assert(!container.data == !container.size && is_within(container, path));
	assert(!container.data || !memchr(container.data, '/', container.size));
	assert(!service.unit.data == !service.unit.size && is_within(service.unit, path));
	assert(is_within(service.manager, path) && (service.unit.data || !service.manager.data));
	if (!service.unit.data)
		return;
	assert(span_ends_with(service.unit, ".service") && service.unit.size <= 255);
	for (size_t i = 0; i < service.unit.size; i++) {
		char c = ((const char *)service.unit.data)[i];
		assert(c > ' ' && c <= 'z' && c != '/');
	}
}

/* Any text, as a path and as /proc/PID/cgroup. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = { data, size };
	struct span path = cgroup_path(text);
	assert(is_within(path, text));
	assert(!path.data || !memchr(path.data, '\n', path.size));
	judge_path(path);
	judge_path(text);
	return 0;
}

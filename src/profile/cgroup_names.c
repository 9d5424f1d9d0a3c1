#include "profile/cgroup_names.h"

#include <stdbool.h>

#include "base/count_of.h"
#include "profile/profile.h"

#define CONTAINER_DIGITS 64
#define UNIT_NAME_MOST	 255 /* UNIT_NAME_MAX of systemd */

static const struct span none = { NULL, 0 };

/* Stores the next part of the path that has a name, and takes it off the path's front. */
static bool next_part(struct span *path, struct span *part)
{
	const char *at = path->data;
	const char *end = at ? at + path->size : NULL;
	while (at < end && *at == '/')
		at++;
	const char *slash = at < end ? memchr(at, '/', (size_t)(end - at)) : NULL;
	const char *stop = slash ? slash : end;
	*part = (struct span){ at, (size_t)(stop - at) };
	*path = (struct span){ stop, (size_t)(end - stop) };
	return part->size > 0;
}

static struct span without_end(struct span text, const char *end)
{
	return span_ends_with(text, end) ? (struct span){ text.data, text.size - strlen(end) }
					 : text;
}

/* ---- services */

static bool is_unit_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr(":-_.\\@", c));
}

/* Whether systemd would take it for the name of a unit of that kind, ".service" or so. */
static bool is_unit(struct span name, const char *kind)
{
	const char *text = name.data;
	if (!span_ends_with(name, kind) || name.size == strlen(kind) ||
	    name.size > UNIT_NAME_MOST || text[0] == '@')
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (!is_unit_character(text[i]))
			return false;
	return true;
}

/* Stores the first part that is no slice. Where the path leads up first, it is one of a namespace.
 */
static bool skip_slices(struct span *path, struct span *part)
{
	while (next_part(path, part)) {
		/* systemd puts that before names that the kernel's own files might have */
		if (part->size > 1 && *(const char *)part->data == '_')
			*part = (struct span){ (const char *)part->data + 1, part->size - 1 };
		if (!is_unit(*part, ".slice") && !span_equal(*part, span_of_text("..")))
			return true;
	}
	return false;
}

struct service_name cgroup_service(struct span path)
{
	struct service_name service = { none, none };
	struct span unit;
	if (!skip_slices(&path, &unit) || !is_unit(unit, ".service"))
		return service;
	if (!span_starts_with(unit, "user@") || !skip_slices(&path, &service.unit)) {
		service.unit = unit;
		return service;
	}
	if (span_equal(service.unit, span_of_text("init.scope"))) /* the manager's own processes */
		service.unit = unit;
	else if (is_unit(service.unit, ".service"))
		service.manager = unit;
	else
		service.unit = none;
	return service;
}

/* ---- containers */

static bool is_one_of(struct span name, const char *const *known, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(name, span_of_text(known[i])))
			return true;
	return false;
}

/* Stands before the digits, and a '-' or ':'. What watches over a container has another word
 * between them: libpod-conmon-, crio-conmon-. */
static bool is_engine(struct span name)
{
	static const char *const engines[] = { "docker",    "cri-containerd", "crio",
					       "libpod",    "libpod-payload", "nerdctl",
					       "containerd" };
	return is_one_of(name, engines, COUNT_OF(engines));
}

/* A group below which digits alone name a container, where no systemd makes the groups: Docker's,
 * Podman's, namespaces of containerd, tasks of ECS, and pods, whose group may be of systemd too. */
static bool holds_containers(struct span name)
{
	static const char *const parents[] = { "docker", "libpod_parent", "default",
					       "k8s.io", "ecs",		  "actions_job" };
	static const char pods[] = "kubepods";
	const char *text = name.data;
	if (is_one_of(name, parents, COUNT_OF(parents)))
		return true;
	/* "kubepods", "kubepods-burstable-pod12.slice"; kind puts "kubelet-" before it */
	for (size_t i = 0; i + sizeof(pods) - 1 <= name.size; i++)
		if ((i == 0 || text[i - 1] == '-') &&
		    span_starts_with((struct span){ text + i, name.size - i }, pods))
			return true;
	return false;
}

/* The digits that the name ends with, if they are as many as a container's. */
static struct span digits_of(struct span name)
{
	const char *text = name.data;
	size_t at = name.size;
	while (at > 0 && ((text[at - 1] >= '0' && text[at - 1] <= '9') ||
			  (text[at - 1] >= 'a' && text[at - 1] <= 'f')))
		at--;
	return name.size - at == CONTAINER_DIGITS ? (struct span){ text + at, CONTAINER_DIGITS }
						  : none;
}

/* "docker-ID.scope", "crio-ID", "ID" where that names one, "SLICE:cri-containerd:ID". */
static struct span container_by_digits(struct span part, bool held)
{
	struct span name = without_end(part, ".scope");
	struct span digits = digits_of(name);
	const char *text = name.data;
	if (!digits.size)
		return none;
	size_t before = name.size - digits.size;
	if (before == 0)
		return held && name.size == part.size ? digits : none;
	struct span engine = { text, before - 1 };
	if (text[before - 1] == ':')
		for (size_t i = engine.size; i > 0; i--)
			if (text[i - 1] == ':') {
				engine = (struct span){ text + i, engine.size - i };
				break;
			}
	bool joined = text[before - 1] == '-' || text[before - 1] == ':';
	return joined && is_engine(engine) ? digits : none;
}

struct span cgroup_container(struct span path)
{
	static const char payload[] = "lxc.payload";
	struct span found = none, part;
	bool held = false; /* below a group that holds containers */
	bool first = true;
	while (next_part(&path, &part)) {
		struct span container = container_by_digits(part, held);
		held |= holds_containers(part);
		bool names_next = span_equal(part, span_of_text(payload)) ||
				  (span_equal(part, span_of_text("lxc")) && (first || found.data));
		first = false;
		if (span_starts_with(part, "lxc.payload.") && part.size > sizeof(payload))
			container = (struct span){ (const char *)part.data + sizeof(payload),
						   part.size - sizeof(payload) };
		else if (names_next && !next_part(&path, &container))
			break;
		if (container.data)
			found = container;
	}
	return found;
}

struct span profile_context_container(const struct profile_context *context)
{
	return context->container.data ? context->container : cgroup_container(context->cgroup);
}

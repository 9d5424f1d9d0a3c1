#include "import/code/perf_dso.h"

#include <stdbool.h>
#include <string.h>

#include "base/count_of.h"
#include "profile/profile.h"

/* "perf-123.map", which JIT compilers write, "jitted-123-4.so", which perf inject makes. */
static bool is_jit_file(struct span name)
{
	if (span_starts_with(name, "jitted-") && span_ends_with(name, ".so"))
		return true;
	if (!span_starts_with(name, "perf-") || !span_ends_with(name, ".map") || name.size <= 9)
		return false;
	for (size_t i = 5; i < name.size - 4; i++)
		if (((const char *)name.data)[i] < '0' || ((const char *)name.data)[i] > '9')
			return false;
	return true;
}

/* "nf_tables" of "/lib/modules/.../nf_tables.ko.xz" */
static bool take_module_file(struct span name, struct span *module)
{
	static const char *const packings[] = { ".gz", ".xz", ".zst" };
	for (size_t i = 0; i < 3; i++)
		if (span_ends_with(name, packings[i]))
			name.size -= strlen(packings[i]);
	if (!span_ends_with(name, ".ko"))
		return false;
	*module = (struct span){ name.data, name.size - 3 };
	return true;
}

/* Memory that no file is behind. */
static bool is_memory(struct span dso)
{
	static const char *const starts[] = { "[heap", "[stack", "[anon", "[vsyscall", "[uprobes" };
	for (size_t i = 0; i < COUNT_OF(starts); i++)
		if (span_starts_with(dso, starts[i]))
			return true;
	return false;
}

static void take_bracketed(struct span dso, struct profile_image *image)
{
	const char *text = dso.data;
	const char *close = memchr(text, ']', dso.size);
	image->name = (struct span){ text + 1, close ? (size_t)(close - text) - 1 : dso.size - 1 };
	if (span_starts_with(dso, "[kernel") || span_starts_with(dso, "[guest.kernel")) {
		image->kind = IMAGE_KERNEL;
	} else if (span_starts_with(dso, "[vdso")) {
		image->kind = IMAGE_VDSO;
	} else if (span_starts_with(dso, "[JIT]")) {
		image->kind = IMAGE_JIT;
		image->name = dso;
	} else if (is_memory(dso) || !close) {
		image->kind = IMAGE_NAME;
		image->name = dso;
	} else {
		image->kind = IMAGE_MODULE;
	}
}

struct profile_image perf_dso_classify(struct span dso)
{
	struct profile_image image = { .kind = IMAGE_NAME, .space = SPACE_PROCESS, .name = dso };
	struct span name = span_base_name(dso);
	if (dso.size == 0 || span_equal(dso, span_of_text("[unknown]"))) {
		image.kind = IMAGE_UNKNOWN;
		image.name = (struct span){ NULL, 0 };
	} else if (span_starts_with(dso, "[")) {
		take_bracketed(dso, &image);
	} else if (span_starts_with(name, "vmlinux")) {
		image.kind = IMAGE_KERNEL;
		image.name = name;
	} else if (span_starts_with(dso, "bpf_prog_") || span_starts_with(dso, "bpf_trampoline_")) {
		image.kind = IMAGE_BPF;
	} else if (is_jit_file(name)) {
		image.kind = IMAGE_JIT;
		image.name = name;
	} else if (take_module_file(name, &image.name)) {
		image.kind = IMAGE_MODULE;
	}
	return image;
}

int perf_dso_image(struct profile *profile, struct span dso, uint32_t *image)
{
	struct profile_image row = perf_dso_classify(dso);
	int ret = profile_add_image(profile, &row, image);
	if (ret < 0 || row.kind == IMAGE_UNKNOWN)
		return ret;
	return profile_add_path(profile, *image, dso);
}

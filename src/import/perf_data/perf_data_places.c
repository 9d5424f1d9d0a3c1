#include "import/perf_data/perf_data_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/hash.h"
#include "image/signed_pointer.h"
#include "import/perf_data/jit_beside.h"
#include "import/perf_data/simpleperf.h"
#include "intake/kernel_text.h"

#define VSYSCALL_START UINT64_C(0xffffffffff600000) /* x86-64: one page for every process */
#define VSYSCALL_END   UINT64_C(0xffffffffff601000)
#define ABOVE_ARM64    UINT64_C(0xffffffff80000000) /* where no arm64 kernel lies; x86-64 does */
#define NO_PID	       UINT32_MAX

struct wanted_image {
	enum image_kind kind;
	struct span name, build_id;
};

static bool image_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_image *image = &((const struct perf_image *)rows)[position];
	const struct wanted_image *key = wanted;
	return image->kind == key->kind && span_equal(span_of_text(image->name), key->name) &&
	       span_equal((struct span){ image->build_id, image->build_id_bytes }, key->build_id);
}

static uint64_t image_hash(enum image_kind kind, struct span name, struct span build_id)
{
	return hash_bytes(name.data, name.size) ^
	       hash_u64(hash_bytes(build_id.data, build_id.size) + kind);
}

/* The number of an image; it is made when it is new. */
static int need_image(struct perf_places *places, const struct wanted_image *wanted,
		      enum vaddr_space space, uint32_t *number)
{
	uint64_t hash = image_hash(wanted->kind, wanted->name, wanted->build_id);
	uint32_t position =
		hash_index_find(&places->index, hash, image_equal, places->images, wanted);
	if (position != HASH_INDEX_NONE) {
		*number = position + 1;
		return 0;
	}
	if (array_reserve(&places->images, &places->capacity, places->count,
			  sizeof(*places->images)) < 0)
		return -ENOMEM;
	struct perf_image image = { .kind = wanted->kind, .space = space };
	image.name = strndup(wanted->name.data ? wanted->name.data : "", wanted->name.size);
	if (!image.name)
		return -ENOMEM;
	if (wanted->build_id.size) {
		memcpy(image.build_id, wanted->build_id.data, wanted->build_id.size);
		image.build_id_bytes = (uint8_t)wanted->build_id.size;
	}
	places->images[places->count] = image;
	if (hash_index_add(&places->index, hash, (uint32_t)places->count) < 0) {
		free(image.name);
		return -ENOMEM;
	}
	*number = (uint32_t)++places->count;
	return 0;
}

int perf_places_init(struct perf_places *places)
{
	*places = (struct perf_places){ .kernel = address_space_new() };
	const struct wanted_image vsyscall = { IMAGE_VDSO, span_of_text("[vsyscall]"), { 0 } };
	return places->kernel ? need_image(places, &vsyscall, SPACE_ELF, &places->vsyscall)
			      : -ENOMEM;
}

void perf_places_release(struct perf_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->images[i].name);
		free(places->images[i].path);
	}
	free(places->images);
	for (size_t i = 0; i < places->build_count; i++)
		free(places->builds[i].path);
	free(places->builds);
	hash_index_release(&places->index);
	address_space_drop(places->kernel);
	*places = (struct perf_places){ 0 };
}

/* Memory without a file: what runs there was made at run time. */
static bool is_anonymous(struct span path)
{
	return path.size == 0 || span_starts_with(path, "//anon") || span_starts_with(path, "[") ||
	       span_starts_with(path, "anon_inode:") || span_starts_with(path, "/SYSV") ||
	       span_starts_with(path, "/dev/zero") || span_starts_with(path, "/anon_hugepage") ||
	       span_starts_with(path, "/memfd:");
}

static bool is_kernel_name(struct span name)
{
	return span_starts_with(name, "[kernel") || span_ends_with(name, "vmlinux");
}

/* "[nf_tables]" or ".../nf-tables.ko.xz" as the kernel spells it: nf_tables. */
static struct span module_name(struct span path, char *room, size_t size)
{
	const char *text = path.data;
	const char *slash = path.size ? memrchr(text, '/', path.size) : NULL;
	size_t at = slash ? (size_t)(slash - text) + 1 : 0;
	size_t end = path.size;
	if (at < end && text[at] == '[') {
		at++;
		const char *bracket = memchr(text + at, ']', end - at);
		end = bracket ? (size_t)(bracket - text) : end;
	} else {
		for (size_t i = at; i + 3 <= end; i++)
			if (memcmp(text + i, ".ko", 3) == 0) {
				end = i;
				break;
			}
	}
	size_t used = 0;
	for (; at < end && used < size; at++)
		room[used++] = text[at] == '-' ? '_' : text[at];
	return (struct span){ room, used };
}

/* Nothing in the file bounds how many mappings the kernel has; more than fit are left out. */
static int add_kernel(struct perf_places *places, const struct mapping *mapping)
{
	int ret = address_space_add(&places->kernel, mapping);
	places->kernel_serial++;
	return ret == -E2BIG ? 0 : ret;
}

static int map_kernel_core(struct perf_places *places, const struct perf_mapping *mapping,
			   uint64_t end)
{
	/* perf puts the address of its reference symbol, _text or _stext, into the offset and the
	   symbol's name behind "[kernel.kallsyms]". */
	bool based = mapping->offset && (span_ends_with(mapping->path, "_text") ||
					 span_ends_with(mapping->path, "_stext"));
	const struct wanted_image wanted = {
		.kind = IMAGE_KERNEL,
		.name = span_of_text(based ? "" : "kernel, base unknown"),
		.build_id = mapping->build_id,
	};
	uint32_t number;
	int ret = need_image(places, &wanted, based ? SPACE_TEXT : SPACE_PROCESS, &number);
	if (ret < 0)
		return ret;
	places->kernel_image = number;
	if (based) {
		places->kernel_symbol_at = mapping->offset;
		strcpy(places->kernel_symbol,
		       span_ends_with(mapping->path, "_stext") ? "_stext" : "_text");
	}
	places->never_signed = mapping->start >= ABOVE_ARM64;
	const struct mapping made = { .start = mapping->start,
				      .end = end,
				      .offset = based ? mapping->start - mapping->offset
						      : mapping->start,
				      .file = number };
	places->kernel_core = made;
	return add_kernel(places, &made);
}

static int map_kernel(struct perf_places *places, const struct perf_mapping *mapping)
{
	char room[128];
	uint64_t end;
	if (__builtin_add_overflow(mapping->start, mapping->size_bytes, &end))
		end = UINT64_MAX;
	if (is_kernel_name(mapping->path))
		return map_kernel_core(places, mapping, end);
	bool bpf =
		span_starts_with(mapping->path, "bpf_") || span_starts_with(mapping->path, "[bpf_");
	const struct wanted_image wanted = {
		.kind = bpf ? IMAGE_BPF : IMAGE_MODULE,
		.name = module_name(mapping->path, room, sizeof(room)),
		.build_id = mapping->build_id,
	};
	uint32_t number;
	int ret = need_image(places, &wanted, SPACE_TEXT, &number);
	if (ret < 0)
		return ret;
	struct perf_image *image = &places->images[number - 1];
	if (!image->path && mapping->path.size) {
		image->path = strndup(mapping->path.data, mapping->path.size);
		if (!image->path)
			return -ENOMEM;
	}
	image->mapped_at = mapping->start;
	const struct mapping made = { .start = mapping->start, .end = end, .file = number };
	return add_kernel(places, &made);
}

/* Which file of the machine it was. A path may be given to another file while others run the first:
 * of which one a sample is the path does not tell. */
static void note_file(struct perf_image *image, const struct perf_mapping *mapping, uint64_t time)
{
	bool first = !image->mapped_at;
	if (first) {
		image->mapped_at = mapping->start;
		image->mapped_ns = time;
	}
	if (!mapping->has_inode)
		return;
	if (first) {
		image->major = mapping->major;
		image->minor = mapping->minor;
		image->inode = mapping->inode;
		image->generation = mapping->generation;
	}
	image->several |= image->major != mapping->major || image->minor != mapping->minor ||
			  image->inode != mapping->inode ||
			  image->generation != mapping->generation;
}

/* Could be executed, as far as the record says. */
static bool is_code(const struct perf_record *record)
{
	const struct perf_mapping *mapping = &record->mapping;
	if (mapping->has_protection)
		return mapping->protection & (PROT_EXEC | SIMPLEPERF_JIT_MAP);
	return !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
}

static int user_image(struct perf_places *places, const struct perf_record *record,
		      uint32_t *number)
{
	const struct perf_mapping *mapping = &record->mapping;
	struct wanted_image wanted = { IMAGE_FILE, mapping->path, mapping->build_id };
	bool runtime = is_anonymous(mapping->path);
	bool data = !is_code(record);
	enum vaddr_space space = SPACE_OFFSET;
	if (span_starts_with(mapping->path, "[vdso") ||
	    span_starts_with(mapping->path, "[vectors")) {
		wanted.kind = IMAGE_VDSO;
		space = SPACE_ELF;
		runtime = false;
	} else if (span_starts_with(mapping->path, "[vsyscall]")) {
		*number = places->vsyscall;
		return 0;
	} else if (runtime) {
		wanted = (struct wanted_image){ IMAGE_JIT,
						span_of_text(data ? "data" : ""),
						{ NULL, 0 } };
		space = SPACE_PROCESS;
	}
	int ret = need_image(places, &wanted, space, number);
	if (ret < 0)
		return ret;
	struct perf_image *image = &places->images[*number - 1];
	image->runtime = runtime;
	image->data = runtime && data;
	/* old records do not tell a protection, and are of code */
	if ((!mapping->protection || mapping->protection & PROT_EXEC) &&
	    (!image->text_mapped || mapping->offset < image->text_offset)) {
		image->text_mapped = true;
		image->text_offset = mapping->offset;
	}
	note_file(image, mapping, record->identity.time);
	return 0;
}

int perf_places_map(struct perf_places *places, struct process_table *processes,
		    const struct perf_record *record)
{
	const struct perf_mapping *mapping = &record->mapping;
	switch (code_mode_of_misc(record->misc)) {
	case CODE_KERNEL:
		return map_kernel(places, mapping);
	case CODE_GUEST_KERNEL:
	case CODE_GUEST_USER:
	case CODE_HYPERVISOR:
		return 0;
	default:
		break;
	}
	if (mapping->pid == NO_PID)
		return map_kernel(places, mapping);
	struct mapping made = { .start = mapping->start, .offset = mapping->offset };
	if (__builtin_add_overflow(mapping->start, mapping->size_bytes, &made.end))
		return 0;
	if (mapping->protection & SIMPLEPERF_JIT_MAP)
		made.offset = made.start;
	int ret = user_image(places, record, &made.file);
	if (ret < 0)
		return ret;
	ret = process_map(processes, mapping->pid, &made);
	return ret == -E2BIG ? 0 : ret; /* what it maps beyond any limit stays unknown */
}

int perf_places_symbol(struct perf_places *places, const struct perf_record *record)
{
	bool gone = record->symbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	struct mapping made = { .start = record->symbol.address };
	if (gone || __builtin_add_overflow(made.start, record->symbol.size_bytes, &made.end))
		return 0;
	const struct wanted_image wanted = { IMAGE_BPF, record->symbol.name, { NULL, 0 } };
	int ret = need_image(places, &wanted, SPACE_TEXT, &made.file);
	return ret < 0 ? ret : add_kernel(places, &made);
}

int perf_places_remember_build(struct perf_places *places, enum code_mode mode, struct span path,
			       struct span build_id)
{
	if (!path.size || !build_id.size || build_id.size > PERF_BUILD_ID_ROOM)
		return 0;
	if (array_reserve(&places->builds, &places->build_capacity, places->build_count,
			  sizeof(*places->builds)) < 0)
		return -ENOMEM;
	struct perf_build build = { .mode = mode, .build_id_bytes = (uint8_t)build_id.size };
	memcpy(build.build_id, build_id.data, build_id.size);
	build.path = strndup(path.data, path.size);
	if (!build.path)
		return -ENOMEM;
	places->builds[places->build_count++] = build;
	return 0;
}

static int take_build(struct perf_image *image, const struct perf_build *build)
{
	if (!image->build_id_bytes) {
		memcpy(image->build_id, build->build_id, build->build_id_bytes);
		image->build_id_bytes = build->build_id_bytes;
	}
	if (build->mode != CODE_KERNEL || image->path)
		return 0;
	image->path = strdup(build->path);
	return image->path ? 0 : -ENOMEM;
}

void perf_places_mark_calls_exact(struct perf_places *places, struct span path)
{
	const struct wanted_image wanted = { IMAGE_FILE, path, { NULL, 0 } };
	uint64_t hash = image_hash(wanted.kind, wanted.name, wanted.build_id);
	uint32_t position =
		hash_index_find(&places->index, hash, image_equal, places->images, &wanted);
	if (position != HASH_INDEX_NONE)
		places->images[position].calls_exact = true;
}

/* Files are found by their path, the others, which are few, one by one. */
static int name_build(struct perf_places *places, const struct perf_build *build)
{
	char room[128];
	struct span path = span_of_text(build->path);
	struct span module = module_name(path, room, sizeof(room));
	struct wanted_image wanted = { IMAGE_FILE, path, { NULL, 0 } };
	if (build->mode != CODE_KERNEL) {
		if (span_starts_with(path, "[vdso"))
			wanted.kind = IMAGE_VDSO;
	} else if (!is_kernel_name(path)) {
		wanted.kind = IMAGE_MODULE;
		wanted.name = module;
	} else {
		return places->kernel_image
			       ? take_build(&places->images[places->kernel_image - 1], build)
			       : 0;
	}
	uint64_t hash = image_hash(wanted.kind, wanted.name, wanted.build_id);
	uint32_t position =
		hash_index_find(&places->index, hash, image_equal, places->images, &wanted);
	return position == HASH_INDEX_NONE ? 0 : take_build(&places->images[position], build);
}

/* Makes the index of names useless, which nobody needs after it. */
int perf_places_name_builds(struct perf_places *places)
{
	int ret = 0;
	for (size_t i = 0; i < places->build_count && ret == 0; i++)
		ret = name_build(places, &places->builds[i]);
	return ret;
}

int perf_places_unknown(struct perf_places *places, enum unknown_cause cause, struct located *out)
{
	uint32_t *number = &places->unknown[cause];
	if (!*number) {
		const struct wanted_image wanted = { IMAGE_UNKNOWN,
						     span_of_text(unknown_texts[cause]),
						     { NULL, 0 } };
		int ret = need_image(places, &wanted, SPACE_PROCESS, number);
		if (ret < 0)
			return ret;
		places->images[*number - 1].cause = cause;
	}
	*out = (struct located){ .image = *number, .cause = cause };
	return 0;
}

/* Code that a process made itself: an image of its own for each process. */
static int runtime_place(struct perf_places *places, struct process *process, uint64_t address,
			 uint64_t wanted, struct located *out)
{
	if (!process->runtime_image) {
		char name[96];
		snprintf(name, sizeof(name), "%s %" PRIu32 " %" PRIu64, process->comm, process->pid,
			 process->start_ns / 10000000);
		const struct wanted_image made = { IMAGE_JIT, span_of_text(name), { NULL, 0 } };
		int ret = need_image(places, &made, SPACE_PROCESS, &process->runtime_image);
		if (ret < 0)
			return ret;
		places->images[process->runtime_image - 1].process = true;
	}
	*out = (struct located){ .vaddr = address, .image = process->runtime_image };
	if (!places->jit || !places->time_ns)
		return 0;
	/* A call may be the last instruction of its function. */
	int ret = jit_beside_vaddr(places->jit, process->pid, wanted, places->time_ns, &out->vaddr);
	out->vaddr += address - wanted;
	return ret;
}

void perf_places_at(struct perf_places *places, const struct process *process, uint64_t time_ns)
{
	places->time_ns = time_ns;
	places->stage =
		places->jit && time_ns ? jit_beside_stage(places->jit, process->pid, time_ns) : 0;
}

static int locate_kernel(struct perf_places *places, uint64_t address, uint64_t wanted,
			 struct located *out)
{
	const struct mapping *mapping = address_space_find(places->kernel, wanted);
	const struct mapping *core = &places->kernel_core;
	if (!mapping && core->end && kernel_text_is_init(core->end, wanted))
		mapping = core;
	if (!mapping)
		return perf_places_unknown(
			places,
			places->kernel_image ? UNKNOWN_KERNEL_ADDRESS : UNKNOWN_KERNEL_HIDDEN, out);
	const struct perf_image *image = &places->images[mapping->file - 1];
	uint64_t vaddr = address - mapping->start + mapping->offset;
	if (image->space == SPACE_TEXT && (int64_t)vaddr < 0) /* before the text begins */
		return perf_places_unknown(places, UNKNOWN_KERNEL_ADDRESS, out);
	*out = (struct located){ .vaddr = vaddr, .image = mapping->file };
	return 0;
}

/* Elsewhere such a word is no address, and what its lower bits happen to hit no caller. */
static uint64_t without_signature(const struct perf_places *places, const struct process *process,
				  uint64_t address)
{
	const struct address_space *space = process->space;
	if (places->never_signed || !space->count)
		return address;
	return signed_pointer_address(address, address_space_end(space) - 1);
}

static int locate_user(struct perf_places *places, struct process *process, uint64_t address,
		       uint64_t wanted, enum frame_kind kind, struct located *out)
{
	if (wanted >= VSYSCALL_START && wanted < VSYSCALL_END) {
		*out = (struct located){ .vaddr = address - VSYSCALL_START,
					 .image = places->vsyscall };
		return 0;
	}
	if (!process)
		return perf_places_unknown(places, UNKNOWN_NO_PROCESS, out);
	const struct mapping *mapping = process_mapping(process, wanted);
	if (!mapping) {
		wanted = without_signature(places, process, wanted);
		mapping = process_mapping(process, wanted);
		address = without_signature(places, process, address);
	}
	if (!mapping)
		return perf_places_unknown(
			places, process->known ? UNKNOWN_NO_MAPPING : UNKNOWN_NO_PROCESS, out);
	const struct perf_image *image = &places->images[mapping->file - 1];
	if (image->data && kind == FRAME_RETURN) /* a word of the stack that is no caller */
		return perf_places_unknown(places, UNKNOWN_NO_MAPPING, out);
	if (image->runtime)
		return runtime_place(places, process, address, wanted, out);
	*out = (struct located){ .vaddr = address - mapping->start + mapping->offset,
				 .image = mapping->file };
	return 0;
}

int perf_places_locate(struct perf_places *places, struct process *process, enum code_mode mode,
		       uint64_t address, enum frame_kind kind, struct located *out)
{
	/* A call may be the last instruction of its mapping. */
	uint64_t wanted = kind == FRAME_RETURN && address ? address - 1 : address;
	switch (mode) {
	case CODE_KERNEL:
		return locate_kernel(places, address, wanted, out);
	case CODE_USER:
		return locate_user(places, process, address, wanted, kind, out);
	case CODE_HYPERVISOR:
		return perf_places_unknown(places, UNKNOWN_HYPERVISOR, out);
	case CODE_GUEST_KERNEL:
		return perf_places_unknown(places, UNKNOWN_GUEST_KERNEL, out);
	case CODE_GUEST_USER:
		return perf_places_unknown(places, UNKNOWN_GUEST_USER, out);
	case CODE_UNKNOWN:
		break;
	}
	/* The file does not say whose it is: a mapping may. */
	if (process && address_space_find(process->space, wanted))
		return locate_user(places, process, address, wanted, kind, out);
	if (address_space_find(places->kernel, wanted))
		return locate_kernel(places, address, wanted, out);
	return perf_places_unknown(places, UNKNOWN_NO_MAPPING, out);
}

int perf_places_write(struct perf_places *places, struct profile *profile, uint32_t number,
		      uint32_t *row)
{
	struct perf_image *image = &places->images[number - 1];
	*row = image->row;
	if (*row)
		return 0;
	/* A build-id is what a file says it is: two files that say the same are still two, so where
	 * nothing is known of the content its path counts. */
	bool named_by_build =
		image->build_id_bytes && image->kind != IMAGE_MODULE && image->kind != IMAGE_FILE;
	struct profile_image made = { .kind = image->kind,
				      .space = image->space,
				      .writer = image->writer };
	if (image->build_id_bytes)
		made.build_id = (struct span){ image->build_id, image->build_id_bytes };
	if (image->has_hash)
		made.hash = (struct span){ &image->hash, sizeof(image->hash) };
	if (!named_by_build && !image->has_hash && image->name[0])
		made.name = span_of_text(image->name);
	/* Addresses that count from nowhere are another image than those from the text. */
	if (image->kind == IMAGE_KERNEL && image->space == SPACE_PROCESS)
		made.name = span_of_text(image->name);
	/* The same process, whoever records it; another one on every host and boot. */
	char name[128];
	if (image->process) {
		snprintf(name, sizeof(name), "%s %s", image->name, places->boot);
		made.name = span_of_text(name);
	}
	int ret = profile_add_image(profile, &made, &image->row);
	if (ret == 0 && image->kind == IMAGE_FILE)
		ret = profile_add_path(profile, image->row, span_of_text(image->name));
	if (ret == 0 && image->path)
		ret = profile_add_path(profile, image->row, span_of_text(image->path));
	*row = image->row;
	return ret;
}

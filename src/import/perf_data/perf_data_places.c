#include "import/perf_data/perf_data_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "image/signed_pointer.h"
#include "import/perf_data/jit_beside.h"
#include "import/perf_data/simpleperf.h"
#include "intake/kernel_text.h"

#define VSYSCALL_START UINT64_C(0xffffffffff600000) /* x86-64: one page for every process */
#define VSYSCALL_END   UINT64_C(0xffffffffff601000)
#define ABOVE_ARM64    UINT64_C(0xffffffff80000000) /* where no arm64 kernel lies; x86-64 does */
#define NO_PID	       UINT32_MAX

int perf_places_init(struct perf_places *places)
{
	*places = (struct perf_places){ .kernel = address_space_new() };
	const struct perf_wanted_image vsyscall = { IMAGE_VDSO, span_of_text("[vsyscall]"), { 0 } };
	return places->kernel
		       ? perf_images_need(&places->images, &vsyscall, SPACE_ELF, &places->vsyscall)
		       : -ENOMEM;
}

void perf_places_release(struct perf_places *places)
{
	perf_images_release(&places->images);
	address_space_drop(places->kernel);
	*places = (struct perf_places){ 0 };
}

/* Whether it is memory without a file: code there was made at run time. */
static bool is_anonymous(struct span path)
{
	return path.size == 0 || span_starts_with(path, "//anon") || span_starts_with(path, "[") ||
	       span_starts_with(path, "anon_inode:") || span_starts_with(path, "/SYSV") ||
	       span_starts_with(path, "/dev/zero") || span_starts_with(path, "/anon_hugepage") ||
	       span_starts_with(path, "/memfd:");
}

/* Adds a mapping of the kernel. A file may have any number: more than fit are left out. */
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
	const struct perf_wanted_image wanted = {
		.kind = IMAGE_KERNEL,
		.name = span_of_text(based ? "" : "kernel, base unknown"),
		.build_id = mapping->build_id,
	};
	uint32_t number;
	int ret = perf_images_need(&places->images, &wanted, based ? SPACE_TEXT : SPACE_PROCESS,
				   &number);
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
	if (perf_image_is_kernel(mapping->path))
		return map_kernel_core(places, mapping, end);
	bool bpf =
		span_starts_with(mapping->path, "bpf_") || span_starts_with(mapping->path, "[bpf_");
	const struct perf_wanted_image wanted = {
		.kind = bpf ? IMAGE_BPF : IMAGE_MODULE,
		.name = perf_image_module_name(mapping->path, room, sizeof(room)),
		.build_id = mapping->build_id,
	};
	uint32_t number;
	int ret = perf_images_need(&places->images, &wanted, SPACE_TEXT, &number);
	if (ret < 0)
		return ret;
	struct perf_image *image = &places->images.list[number - 1];
	if (!image->path && mapping->path.size) {
		image->path = strndup(mapping->path.data, mapping->path.size);
		if (!image->path)
			return -ENOMEM;
	}
	image->mapped_at = mapping->start;
	const struct mapping made = { .start = mapping->start, .end = end, .file = number };
	return add_kernel(places, &made);
}

/* Notes which file of the machine an image is. Where a path was given to another file while
 * processes still ran the first, it does not say of which one a sample is. */
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

/* Whether the mapping could be executed, as far as the record says. */
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
	struct perf_wanted_image wanted = { IMAGE_FILE, mapping->path, mapping->build_id };
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
		wanted = (struct perf_wanted_image){ IMAGE_JIT,
						     span_of_text(data ? "data" : ""),
						     { NULL, 0 } };
		space = SPACE_PROCESS;
	}
	int ret = perf_images_need(&places->images, &wanted, space, number);
	if (ret < 0)
		return ret;
	struct perf_image *image = &places->images.list[*number - 1];
	image->runtime = runtime;
	image->data = runtime && data;
	/* old records have no protection, and are of code */
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
	const struct perf_wanted_image wanted = { IMAGE_BPF, record->symbol.name, { NULL, 0 } };
	int ret = perf_images_need(&places->images, &wanted, SPACE_TEXT, &made.file);
	return ret < 0 ? ret : add_kernel(places, &made);
}

int perf_places_unknown(struct perf_places *places, enum unknown_cause cause, struct located *out)
{
	uint32_t *number = &places->unknown[cause];
	if (!*number) {
		const struct perf_wanted_image wanted = { IMAGE_UNKNOWN,
							  span_of_text(unknown_texts[cause]),
							  { NULL, 0 } };
		int ret = perf_images_need(&places->images, &wanted, SPACE_PROCESS, number);
		if (ret < 0)
			return ret;
		places->images.list[*number - 1].cause = cause;
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
		const struct perf_wanted_image made = { IMAGE_JIT,
							span_of_text(name),
							{ NULL, 0 } };
		int ret = perf_images_need(&places->images, &made, SPACE_PROCESS,
					   &process->runtime_image);
		if (ret < 0)
			return ret;
		places->images.list[process->runtime_image - 1].process = true;
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
	const struct perf_image *image = &places->images.list[mapping->file - 1];
	uint64_t vaddr = address - mapping->start + mapping->offset;
	if (image->space == SPACE_TEXT && (int64_t)vaddr < 0) /* before the text begins */
		return perf_places_unknown(places, UNKNOWN_KERNEL_ADDRESS, out);
	*out = (struct located){ .vaddr = vaddr, .image = mapping->file };
	return 0;
}

/* A user's address without arm64's pointer authentication code. On other machines such a word is no
 * address: it stays, so that its lower bits hit nothing by chance. */
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
	const struct perf_image *image = &places->images.list[mapping->file - 1];
	if (image->data && kind == FRAME_RETURN) /* some word of the stack, not a caller */
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
	/* The file does not say whose address it is: a mapping may. */
	if (process && address_space_find(process->space, wanted))
		return locate_user(places, process, address, wanted, kind, out);
	if (address_space_find(places->kernel, wanted))
		return locate_kernel(places, address, wanted, out);
	return perf_places_unknown(places, UNKNOWN_NO_MAPPING, out);
}

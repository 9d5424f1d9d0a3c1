#include "import/unwind/unwind_engine.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/sorted.h"
#include "image/elf_file.h"
#include "image/signed_pointer.h"
#include "import/unwind/unwind_modules.h"
#include "import/unwind/unwind_registers.h"

#define OPEN_SESSIONS_MAX 64 /* a Dwfl with its tables parsed; the one used longest ago goes */
#define THREAD		  1  /* libdwfl wants numbers of a process and a thread: any */

enum file_state { FILE_UNASKED, FILE_MISSING, FILE_THERE };

struct engine_file {
	enum file_state state;
	struct mapped_file mapped;
	struct elf_file elf; /* ours, for segments */
	Elf *shared;	     /* one handle for all sessions */
};

struct engine_space {
	uint16_t machine;
	struct mapping *list;
	size_t count;
	struct unwind_modules modules; /* of the session */
	Dwfl *dwfl;		       /* NULL: made when needed */
	size_t files_at_making;	       /* of the engine, when it was made */
	uint64_t used;
};

struct unwind_engine {
	struct engine_file *files;
	size_t file_count, file_capacity;
	size_t files_set; /* grows with every file that comes */
	struct engine_space *spaces;
	size_t space_count, space_capacity;
	size_t open_sessions;
	uint64_t runs;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	/* of the run under way */
	struct engine_space *space;
	const struct unwind_registers *registers;
	struct span stack;
	uint64_t stack_start;
	bool read_failed, read_past_stack; /* since the last frame */
	struct unwind_run run;
};

int unwind_engine_new(struct unwind_engine **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	return 0;
}

static void close_session(struct unwind_engine *engine, struct engine_space *space)
{
	if (!space->dwfl)
		return;
	dwfl_end(space->dwfl);
	space->dwfl = NULL;
	engine->open_sessions--;
}

static void forget_spaces(struct unwind_engine *engine)
{
	for (size_t i = 0; i < engine->space_count; i++) {
		close_session(engine, &engine->spaces[i]);
		free(engine->spaces[i].list);
		free(engine->spaces[i].modules.list);
	}
	engine->space_count = 0;
}

static void release_file(struct engine_file *file)
{
	if (file->shared)
		elf_end(file->shared);
	elf_file_release(&file->elf);
	mapped_file_close(&file->mapped);
	*file = (struct engine_file){ .state = FILE_MISSING };
}

void unwind_engine_free(struct unwind_engine *engine)
{
	if (!engine)
		return;
	forget_spaces(engine);
	for (size_t i = 0; i < engine->file_count; i++)
		release_file(&engine->files[i]);
	free(engine->files);
	free(engine->spaces);
	free(engine);
}

static int map_file(struct engine_file *file, int fd, struct error *err)
{
	int ret = mapped_file_open(fd, &file->mapped, err);
	if (ret == 0)
		ret = elf_file_parse(file->mapped.bytes, file->mapped.size_bytes, &file->elf, err);
	if (ret < 0)
		return ret;
	if (file->elf.type != ET_EXEC && file->elf.type != ET_DYN)
		return error_set(err, -ENOEXEC, "it is no program and no library");
	file->shared = elf_memory(file->mapped.bytes, file->mapped.size_bytes);
	if (!file->shared)
		return error_set(err, -EBADMSG, "%s", elf_errmsg(-1));
	return 0;
}

int unwind_engine_set_file(struct unwind_engine *engine, uint32_t number, int fd, struct error *err)
{
	if (number == 0 || number > UNWIND_MAX_FILES)
		return error_set(err, -EINVAL, "no such file");
	engine->files_set++; /* sessions point at files, which move: none goes on as it is */
	while (engine->file_count < number) {
		if (array_reserve(&engine->files, &engine->file_capacity, engine->file_count,
				  sizeof(*engine->files)) < 0)
			return error_set(err, -ENOMEM, "out of memory");
		engine->files[engine->file_count++] = (struct engine_file){ .state = FILE_UNASKED };
	}
	struct engine_file *file = &engine->files[number - 1];
	if (file->state == FILE_THERE)
		return error_set(err, -EINVAL, "the file was given before");
	file->state = FILE_MISSING;
	if (fd < 0)
		return 0;
	int ret = map_file(file, fd, err);
	if (ret < 0)
		release_file(file);
	else
		file->state = FILE_THERE;
	return ret;
}

int unwind_engine_set_space(struct unwind_engine *engine, uint32_t number, uint16_t machine,
			    const struct mapping *list, size_t count)
{
	if (number == 1)
		forget_spaces(engine);
	if (number != engine->space_count + 1)
		return -EINVAL;
	if (array_reserve(&engine->spaces, &engine->space_capacity, engine->space_count,
			  sizeof(*engine->spaces)) < 0)
		return -ENOMEM;
	struct mapping *copy = calloc(count ? count : 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		copy[i] = list[i];
	engine->spaces[engine->space_count++] =
		(struct engine_space){ .machine = machine, .list = copy, .count = count };
	return 0;
}

static const struct mapping *find_mapping(const struct engine_space *space, uint64_t address)
{
	size_t at = SORTED_BEHIND(space->list, space->count, end, address);
	return at < space->count && space->list[at].start <= address ? &space->list[at] : NULL;
}

static enum file_state state_of(const struct unwind_engine *engine, uint32_t number)
{
	return number == 0		     ? FILE_MISSING
	       : number > engine->file_count ? FILE_UNASKED
					     : engine->files[number - 1].state;
}

/* ---- Signed addresses */

/* libdw knows nothing of signatures. Words that are no address of code stay as they are. */
static uint64_t without_signature(const struct engine_space *space, uint64_t word)
{
	if (space->machine != EM_AARCH64 || !space->count)
		return word;
	uint64_t address = signed_pointer_address(word, space->list[space->count - 1].end - 1);
	/* behind a call, which may be the last instruction that is mapped */
	return find_mapping(space, address - 1) ? address : word;
}

/* ---- Callbacks of libdwfl */

static int find_elf(Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	(void)module, (void)name, (void)base, (void)file_name;
	const struct engine_file *file = *user_data;
	if (file)
		*elf = elf_begin(-1, ELF_C_READ, file->shared);
	return -1;
}

static int find_debuginfo(Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word sum, char **found)
{
	(void)module, (void)user_data, (void)name, (void)base;
	(void)file_name, (void)link, (void)sum, (void)found;
	return -1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread_context)
{
	(void)dwfl, (void)tid;
	*thread_context = context;
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread_context)
{
	(void)dwfl;
	if (*thread_context)
		return 0;
	*thread_context = context;
	return THREAD;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
	(void)dwfl;
	struct unwind_engine *engine = context;
	size_t size = unwind_is_narrow(engine->space->machine) ? 4 : 8;
	uint64_t inside = address - engine->stack_start;
	const void *bytes = NULL;
	if (address >= engine->stack_start && inside < engine->stack.size &&
	    engine->stack.size - inside >= size) {
		bytes = (const uint8_t *)engine->stack.data + inside;
	} else {
		bytes = unwind_modules_read(&engine->space->modules, address, size);
		engine->read_failed |= !bytes;
		engine->read_past_stack |= !bytes && address >= engine->stack_start;
	}
	if (!bytes)
		return false;
	*word = 0;
	memcpy(word, bytes, size);
	*word = without_signature(engine->space, *word);
	return true;
}

/* ---- Registers */

static uint64_t register_value(const struct unwind_engine *engine, unsigned number)
{
	uint64_t value = engine->registers->values[number];
	if (number == UNWIND_LINK_OF_AARCH64)
		value = without_signature(engine->space, value);
	return unwind_is_narrow(engine->space->machine) ? (uint32_t)value : value;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct unwind_engine *engine = context;
	uint16_t machine = engine->space->machine;
	unsigned stack, instruction;
	if (!unwind_pointers(machine, &stack, &instruction))
		return false;
	for (unsigned i = 0; i < UNWIND_MAX_REGISTERS; i++) {
		unsigned number = unwind_dwarf_number(machine, i);
		Dwarf_Word value = register_value(engine, i);
		if (!(engine->registers->mask >> i & 1) || number == UNWIND_NOT_DWARF)
			continue;
		if (!dwfl_thread_state_registers(thread, (int)number, 1, &value))
			return false;
	}
	if (machine == EM_AARCH64)
		dwfl_thread_state_register_pc(thread, register_value(engine, instruction));
	return true;
}

/* ---- Sessions */

/* libdwfl takes a module's start for the first segment's vaddr, rounded down by its alignment. */
static bool report_module(Dwfl *dwfl, const struct unwind_module *module)
{
	const struct engine_file *file = module->owner;
	uint64_t low = module->low - module->bias;
	GElf_Phdr header;
	size_t count = 0;
	elf_getphdrnum(file->shared, &count);
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(file->shared, (int)i, &header) && header.p_type == PT_LOAD) {
			low = header.p_vaddr & -(header.p_align ? header.p_align : 1);
			break;
		}
	if (low + module->bias >= module->high)
		return true; /* its headers make no sense */
	void **user_data;
	Dwfl_Module *reported = dwfl_report_module(dwfl, "", low + module->bias, module->high);
	if (!reported)
		return false;
	dwfl_module_info(reported, &user_data, NULL, NULL, NULL, NULL, NULL, NULL);
	*user_data = module->owner;
	return true;
}

/* Reports the files that were set so far, in the order of their addresses. 0 or -ENOMEM. */
static int report_modules(struct unwind_engine *engine, struct engine_space *space, Dwfl *dwfl)
{
	int ret = 0;
	space->modules.count = 0;
	for (size_t i = 0; i < space->count && ret == 0; i++) {
		uint32_t number = space->list[i].file;
		if (state_of(engine, number) != FILE_THERE)
			continue;
		struct engine_file *file = &engine->files[number - 1];
		if (file->elf.machine == space->machine)
			ret = unwind_modules_add(&space->modules, &file->elf, file,
						 &space->list[i]);
	}
	for (size_t i = 0; i < space->modules.count && ret == 0; i++)
		if (!report_module(dwfl, &space->modules.list[i]))
			ret = -ENOMEM;
	return ret;
}

static void close_oldest_session(struct unwind_engine *engine)
{
	struct engine_space *oldest = NULL;
	for (size_t i = 0; i < engine->space_count; i++)
		if (engine->spaces[i].dwfl && (!oldest || engine->spaces[i].used < oldest->used))
			oldest = &engine->spaces[i];
	if (oldest)
		close_session(engine, oldest);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};
static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* 0, 1 when libdwfl cannot work with these files, or -ENOMEM. */
static int open_session(struct unwind_engine *engine, struct engine_space *space)
{
	space->used = ++engine->runs;
	if (space->dwfl && space->files_at_making == engine->files_set)
		return 0;
	close_session(engine, space);
	if (engine->open_sessions == OPEN_SESSIONS_MAX)
		close_oldest_session(engine);
	Dwfl *dwfl = dwfl_begin(&callbacks);
	if (!dwfl)
		return -ENOMEM;
	dwfl_report_begin(dwfl);
	int ret = report_modules(engine, space, dwfl);
	if (dwfl_report_end(dwfl, NULL, NULL) != 0 && ret == 0)
		ret = 1;
	if (ret == 0 && !dwfl_attach_state(dwfl, NULL, THREAD, &thread_callbacks, engine))
		ret = 1;
	if (ret != 0) {
		dwfl_end(dwfl);
		return ret;
	}
	space->dwfl = dwfl;
	space->files_at_making = engine->files_set;
	engine->open_sessions++;
	return 0;
}

/* ---- One stack */

/* Takes a frame. Returns whether to go on from it. */
static bool take_frame(struct unwind_engine *engine, uint64_t pc, bool is_return)
{
	struct unwind_run *run = &engine->run;
	const struct mapping *mapping = find_mapping(engine->space, pc - is_return);
	if (run->count && pc == 0)
		return false; /* the outermost frame has no caller */
	run->end = UNWIND_NO_MAPPING;
	if (run->count && !mapping)
		return false; /* what was read as its address is none */
	run->end = UNWIND_TOO_DEEP;
	if (run->count == UNWIND_MAX_FRAMES)
		return false;
	engine->frames[run->count++] = (struct unwind_frame){ pc, is_return };
	run->end = UNWIND_NO_MAPPING;
	if (!mapping || mapping->file == 0)
		return false;
	switch (state_of(engine, mapping->file)) {
	case FILE_UNASKED:
		run->end = UNWIND_FILE_NEEDED;
		run->file = mapping->file;
		return false;
	case FILE_MISSING:
		run->end = UNWIND_NO_BINARY;
		run->file = mapping->file;
		return false;
	default:
		run->end = UNWIND_WHOLE;
		return true;
	}
}

static int on_frame(Dwfl_Frame *frame, void *context)
{
	struct unwind_engine *engine = context;
	Dwarf_Addr pc;
	bool active;
	/* to find whether a frame is active, libdwfl already looks for its caller */
	engine->read_failed = engine->read_past_stack = false;
	if (!dwfl_frame_pc(frame, &pc, &active)) {
		engine->run.end = UNWIND_NO_RULE;
		return DWARF_CB_ABORT;
	}
	return take_frame(engine, pc, !active) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void unwind(struct unwind_engine *engine)
{
	struct unwind_run *run = &engine->run;
	run->count = 0;
	int ret = dwfl_getthread_frames(engine->space->dwfl, THREAD, on_frame, engine);
	if (ret == DWARF_CB_ABORT)
		return; /* on_frame() has set run->end */
	/* libdwfl ends a stack without an error where it cannot find the caller's address */
	if (engine->read_past_stack)
		run->end = UNWIND_STACK_CUT;
	else if (engine->read_failed || ret != DWARF_CB_OK)
		run->end = UNWIND_NO_RULE;
}

int unwind_engine_run(struct unwind_engine *engine, uint32_t number,
		      const struct unwind_registers *registers, struct span stack,
		      struct unwind_run *out)
{
	unsigned stack_pointer, instruction_pointer;
	if (number == 0 || number > engine->space_count)
		return -EINVAL;
	struct engine_space *space = &engine->spaces[number - 1];
	engine->space = space;
	engine->registers = registers;
	engine->stack = stack;
	engine->run = (struct unwind_run){ .frames = engine->frames, .end = UNWIND_NO_REGISTERS };
	*out = engine->run;
	if (!unwind_pointers(space->machine, &stack_pointer, &instruction_pointer) ||
	    !(registers->mask >> stack_pointer & 1) ||
	    !(registers->mask >> instruction_pointer & 1))
		return 0;
	engine->stack_start = register_value(engine, stack_pointer);
	if (take_frame(engine, register_value(engine, instruction_pointer), false)) {
		int ret = open_session(engine, space);
		if (ret < 0)
			return ret;
		if (ret > 0)
			engine->run.end = UNWIND_NO_RULE;
		else
			unwind(engine);
	}
	*out = engine->run;
	return 0;
}

#include <assert.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/unwind/unwind_engine.h"
#include "unwind_binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

/* libdw (0.188) forgets the room of an expression that it gives up for its length: code with such
 * a rule is met by chance only. In culprit the helper process bounds that. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

#define LOADED	    0x400000u
#define STACK	    0x7ffe0000u
#define STACK_WORDS 512

static struct unwind_engine *new_engine(void)
{
	struct unwind_engine *engine;
	const struct mapping mapping = { LOADED, LOADED + 0x1000, 0, 1 };
	int fd = memfd_create("binary", MFD_CLOEXEC);
	assert(unwind_engine_new(&engine) == 0);
	assert(write(fd, unwind_binary, sizeof(unwind_binary)) == sizeof(unwind_binary));
	assert(unwind_engine_set_file(engine, 1, fd, NULL) == 0);
	assert(unwind_engine_set_space(engine, 1, EM_X86_64, &mapping, 1) == 0);
	close(fd);
	return engine;
}

/* Small numbers become addresses of the code and of the stack, for they would not be guessed. */
static uint64_t word_at(const uint8_t *data, size_t size, size_t at)
{
	uint64_t word = 0;
	if (at < size)
		memcpy(&word, data + at, size - at < sizeof(word) ? size - at : sizeof(word));
	if (word >= ENDLESS_FIRST && word <= ENDLESS_LAST + 1)
		return 0;
	return word && word < 4096  ? LOADED + word
	       : word - 4096 < 4096 ? STACK + word - 4096
				    : word;
}

/* Any registers and any stack: the sampled instruction comes first, every other frame lies in the
 * binary, and the same is found again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct unwind_engine *engine;
	uint64_t stack[STACK_WORDS];
	struct unwind_registers registers = { .mask = 0xff0fff };
	struct unwind_run run;
	struct unwind_frame first[UNWIND_MAX_FRAMES];
	if (!engine)
		engine = new_engine();
	if (size < 1)
		return 0;
	size_t words = (size - 1) / 8 < STACK_WORDS ? (size - 1) / 8 : STACK_WORDS;
	for (size_t i = 0; i < words; i++)
		stack[i] = word_at(data + 1, size - 1, i * 8);
	registers.values[1] = words > 0 ? stack[0] : 0; /* rbx */
	registers.values[6] = words > 1 ? stack[1] : 0; /* rbp */
	registers.values[7] = STACK;
	uint64_t offset = TEXT_FIRST + data[0] % (TEXT_LAST - TEXT_FIRST + 1);
	if (offset >= ENDLESS_FIRST && offset <= ENDLESS_LAST)
		offset = TEXT_FIRST;
	registers.values[8] = LOADED + offset;
	struct span bytes = { stack, words * 8 };
	assert(unwind_engine_run(engine, 1, &registers, bytes, &run) == 0);
	assert(run.count >= 1 && run.count <= UNWIND_MAX_FRAMES);
	assert(run.end < UNWIND_FILE_NEEDED && run.end != UNWIND_NO_BINARY);
	assert(run.frames[0].address == registers.values[8] && !run.frames[0].is_return);
	for (size_t i = 1; i < run.count; i++) {
		uint64_t address = run.frames[i].address - run.frames[i].is_return;
		assert(address >= LOADED && address < LOADED + 0x1000);
	}
	size_t count = run.count;
	enum unwind_end end = run.end;
	memcpy(first, run.frames, count * sizeof(*first));
	assert(unwind_engine_run(engine, 1, &registers, bytes, &run) == 0);
	assert(run.count == count && run.end == end);
	assert(memcmp(first, run.frames, count * sizeof(*first)) == 0);
	return 0;
}

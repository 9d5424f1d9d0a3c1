/* A child that is stepped, instruction by instruction, through a program linked as usual: at each
 * its stack is walked by rules, and has to be what the calls and returns seen so far have made it.
 * So every prologue and epilogue on the way is interrupted everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <alloca.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "image/elf_file.h"
#include "support/skip.h"
#include "support/stopped_thread.h"
#include "unwind/frame_rules.h"
#include "unwind/stack_walk.h"

#define FILES	    32
#define STACK_BYTES (256u << 10)
#define FRAMES	    512
#define CALLS	    512
#define STEPS_MOST  150000

/* ---- what the child does: a bit of everything that has a prologue of its own */

static volatile double sink;
static volatile int deeper;

static int compare(const void *a, const void *b)
{
	const int *left = a;
	const int *right = b;
	return (*left > *right) - (*left < *right);
}

static __attribute__((noinline)) int recurse(int depth)
{
	char text[64];
	snprintf(text, sizeof(text), "%d %.3f %s", depth, depth / 7.0, "text");
	deeper += text[0];
	return depth ? recurse(depth - 1) + 1 : 0;
}

static __attribute__((noinline)) void use_alloca(size_t size)
{
	char *bytes = alloca(size);
	memset(bytes, 1, size);
	deeper += bytes[size / 2] + recurse(1);
}

static __attribute__((noinline)) void realign(void)
{
	_Alignas(128) volatile char bytes[256];
	bytes[0] = 1;
	deeper += bytes[0] + recurse(1);
}

static void on_signal(int number)
{
	deeper += number + recurse(1);
}

static void *in_thread(void *nothing)
{
	return nothing;
}

static void work(void)
{
	int numbers[16];
	struct timespec now;
	pthread_t thread;
	for (int i = 0; i < 16; i++)
		numbers[i] = (i * 7) % 16;
	signal(SIGUSR1, on_signal);
	recurse(3);
	qsort(numbers, 16, sizeof(numbers[0]), compare);
	use_alloca(200);
	realign();
	sink = strtod("3.14159265358979", NULL);
	raise(SIGUSR1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

/* ---- the rules of what is mapped: parent and child have the same mappings */

struct file {
	uint64_t start, end, offset; /* a mapping with code */
	struct elf_file *elf;
	struct frame_rules *rules;
};

static struct file files[FILES];
static size_t file_count;

static void add_segments(uint64_t base, struct elf_file *elf, struct frame_rules *rules)
{
	for (size_t i = 0; i < elf->segment_count && file_count < FILES; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (segment->type == PT_LOAD && segment->flags & PF_X)
			files[file_count++] =
				(struct file){ base + segment->vaddr,
					       base + segment->vaddr + segment->memory_bytes,
					       segment->offset, elf, rules };
	}
}

static void add_bytes(uint64_t base, const void *bytes, size_t size)
{
	struct elf_file *elf = calloc(1, sizeof(*elf));
	struct frame_rules *rules = calloc(1, sizeof(*rules));
	struct error err;
	assert_int_equal(elf_file_parse(bytes, size, elf, &err), 0);
	assert_int_equal(frame_rules_read(elf, rules), 0);
	add_segments(base, elf, rules);
}

static int add_library(struct dl_phdr_info *info, size_t size, void *nothing)
{
	struct mapped_file mapped;
	struct error err;
	(void)size;
	(void)nothing;
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	if (vdso && info->dlpi_addr == vdso) {
		add_bytes(vdso, (const void *)(uintptr_t)vdso, 2 * (size_t)getpagesize());
		return 0;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	assert_int_equal(mapped_file_open(fd, &mapped, &err), 0);
	close(fd);
	add_bytes(info->dlpi_addr, mapped.bytes, mapped.size_bytes);
	return 0;
}

static void look_up(void *nothing, uint64_t address, struct walk_place *place)
{
	(void)nothing;
	place->may_guess = place->has_rules = true;
	for (size_t i = 0; i < file_count; i++) {
		const struct file *file = &files[i];
		if (address < file->start || address >= file->end)
			continue;
		place->rule = frame_rules_find(file->rules, address - file->start + file->offset);
		return;
	}
	place->end = WALK_NO_MAPPING;
}

/* ---- the child, and what it has called */

struct call {
	uint64_t at; /* the stack pointer when it was called: it has returned when that is above */
	uint64_t address;
};

struct stepped {
	pid_t pid;
	struct stopped_thread now;
	struct call calls[CALLS];
	size_t call_count;
};

static void read_state(struct stepped *stepped)
{
	assert_true(stopped_thread_read(stepped->pid, STACK_BYTES, &stepped->now));
}

#if defined(__x86_64__)
static uint64_t top_word(const struct stepped *stepped)
{
	uint64_t word = 0;
	if (stepped->now.stack_bytes >= sizeof(word))
		memcpy(&word, stepped->now.stack, sizeof(word));
	return word;
}
#endif

static void push(struct stepped *stepped, uint64_t at, uint64_t address)
{
	assert_true(stepped->call_count < CALLS);
	stepped->calls[stepped->call_count++] = (struct call){ at, address };
}

/* Follows one step from (ip, sp), where x30 was `link`. */
static void follow(struct stepped *stepped, uint64_t ip, uint64_t sp, uint64_t link)
{
#if defined(__x86_64__)
	uint64_t word = top_word(stepped);
	(void)link;
	while (stepped->call_count && stepped->calls[stepped->call_count - 1].at < stepped->now.sp)
		stepped->call_count--;
	if (stepped->now.sp == sp - 8 && word > ip && word <= ip + 7 &&
	    (stepped->now.ip <= ip || stepped->now.ip > ip + 7))
		push(stepped, stepped->now.sp, word);
#else
	(void)sp;
	(void)link;
	if (stepped->call_count) {
		const struct call *last = &stepped->calls[stepped->call_count - 1];
		if (stepped->now.ip == last->address && stepped->now.sp == last->at)
			stepped->call_count--;
	}
	/* bl and blr; the child's code is ours */
	uint32_t code = *(const uint32_t *)(uintptr_t)ip;
	if ((code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000)
		push(stepped, stepped->now.sp, stepped->now.link);
#endif
}

static size_t walk(const struct stepped *stepped, struct walk_frame *frames, enum walk_end *end)
{
	struct stack_walk walk = stopped_thread_walk(&stepped->now);
	size_t count;
	walk.look_up = look_up;
	*end = stack_walk_run(&walk, frames, FRAMES, &count);
	return count;
}

struct checked {
	size_t steps, frames, signals, wrong;
	struct walk_frame base[FRAMES]; /* callers of what was stepped first */
	size_t base_count;
};

/* Compares a walk with the calls: the place itself, what was called since, what was before. */
static void check_walk(const struct stepped *stepped, struct checked *checked)
{
	struct walk_frame frames[FRAMES];
	enum walk_end end;
	size_t count = walk(stepped, frames, &end);
	bool right = end == WALK_WHOLE && count == 1 + stepped->call_count + checked->base_count &&
		     frames[0].address == stepped->now.ip;
	for (size_t i = 0; right && i < stepped->call_count; i++)
		right = frames[1 + i].address ==
			stepped->calls[stepped->call_count - 1 - i].address;
	for (size_t i = 0; right && i < checked->base_count; i++)
		right = frames[1 + stepped->call_count + i].address == checked->base[i].address;
	checked->steps++;
	checked->frames += count;
	if (right)
		return;
	checked->wrong++;
	if (checked->wrong > 5)
		return;
	printf("at %#lx: end %d, %zu frames for 1 + %zu + %zu\n", (unsigned long)stepped->now.ip,
	       end, count, stepped->call_count, checked->base_count);
	for (size_t i = 0; i < count; i++)
		printf("  %#lx%s\n", (unsigned long)frames[i].address,
		       frames[i].guessed ? " guessed" : "");
	for (size_t i = stepped->call_count; i-- > 0;)
		printf("  called: %#lx\n", (unsigned long)stepped->calls[i].address);
}

static pid_t start_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		work();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* One step with a signal to deliver. False: it has ended. */
static bool step(struct stepped *stepped, int deliver, int *number)
{
	int status;
	if (ptrace(PTRACE_SINGLESTEP, stepped->pid, NULL, deliver) < 0)
		return false;
	assert_int_equal(waitpid(stepped->pid, &status, 0), stepped->pid);
	if (!WIFSTOPPED(status))
		return false;
	*number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	read_state(stepped);
	return true;
}

/* Steps to the first instruction of work(), whose callers are those of all that follows. */
static void step_to_work(struct stepped *stepped, struct checked *checked)
{
	struct walk_frame frames[FRAMES];
	enum walk_end end;
	int number = 0;
	read_state(stepped);
	for (size_t i = 0; i < STEPS_MOST && stepped->now.ip != (uint64_t)(uintptr_t)work; i++)
		assert_true(step(stepped, 0, &number));
	checked->base_count = walk(stepped, frames, &end) - 1;
	assert_int_equal(end, WALK_WHOLE);
	assert_true(checked->base_count > 2);
	memcpy(checked->base, frames + 1, checked->base_count * sizeof(frames[0]));
}

/* What the kernel did to run a handler: the place that it interrupted, and where it returns to. */
static void follow_signal(struct stepped *stepped, uint64_t ip, uint64_t sp)
{
#if defined(__x86_64__)
	push(stepped, sp - 1, ip); /* it is back when the stack pointer is `sp` */
	push(stepped, stepped->now.sp, top_word(stepped));
#else
	push(stepped, sp, ip);
	push(stepped, stepped->now.sp, stepped->now.link);
#endif
}

static void every_instruction_has_the_stack_that_its_calls_made(void **state)
{
	static struct stepped stepped;
	static struct checked checked;
	int status, number = 0;
	(void)state;
	dl_iterate_phdr(add_library, NULL);
	stepped.pid = start_child();
	assert_int_equal(waitpid(stepped.pid, &status, 0), stepped.pid);
	if (WIFEXITED(status))
		SKIP("nothing may be traced here");
	step_to_work(&stepped, &checked);
	for (size_t i = 0; i < STEPS_MOST && stepped.now.ip != checked.base[0].address; i++) {
		uint64_t ip = stepped.now.ip, sp = stepped.now.sp, link = stepped.now.link;
		int delivered = number;
		check_walk(&stepped, &checked);
		assert_true(step(&stepped, delivered, &number));
		if (delivered == SIGUSR1)
			follow_signal(&stepped, ip, sp);
		else
			follow(&stepped, ip, sp, link);
		checked.signals += delivered == SIGUSR1;
	}
	assert_int_equal(stepped.now.ip, checked.base[0].address);
	kill(stepped.pid, SIGKILL);
	waitpid(stepped.pid, &status, 0);
	printf("%zu instructions, %zu frames, %zu signals, %zu wrong\n", checked.steps,
	       checked.frames, checked.signals, checked.wrong);
	assert_true(checked.steps > 10000);
	assert_int_equal(checked.signals, 1);
	assert_int_equal(checked.wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_has_the_stack_that_its_calls_made),
	};
	return cmocka_run_group_tests_name("stack walk", tests, NULL, NULL);
}

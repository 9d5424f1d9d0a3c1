/*
 * What is found out about the places that were sampled: names of code that a process made, of the
 * vDSO, where branches went; and what is left out when there is no time. The command is a child
 * that waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_up_recording.h"
#include "profile/bill.h"
#include "support/skip.h"

#define MADE_CODE UINT64_C(0x10000000)

struct subject {
	struct recording r;
	pid_t pid;
	int tell; /* closed: it ends */
};

static void begin(struct subject *subject)
{
	int pipes[2];
	*subject = (struct subject){ 0 };
	assert_int_equal(pipe(pipes), 0);
	subject->pid = fork();
	assert_true(subject->pid >= 0);
	if (subject->pid == 0) {
		char byte;
		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) != 0);
	}
	close(pipes[0]);
	subject->tell = pipes[1];
	recording_begin(&subject->r, COLLECT_COMMAND, "cpu-clock");
	subject->r.options.command_pid = subject->pid;
	subject->r.options.stash = true;
}

static void end(struct subject *subject)
{
	recording_end(&subject->r);
	close(subject->tell);
	assert_int_equal(waitpid(subject->pid, NULL, 0), subject->pid);
}

static void sample(struct subject *subject, uint64_t ip, const uint64_t *registers)
{
	const struct made_up_sample sample = { .pid = (uint32_t)subject->pid,
					       .tid = (uint32_t)subject->pid,
					       .ip = ip,
					       .misc = PERF_RECORD_MISC_USER,
					       .registers = registers };
	recording_sample(&subject->r, "cpu-clock", &sample);
}

static void code_that_a_process_made_is_named_by_its_map(void **state)
{
	(void)state;
	struct subject s;
	char path[64];
	begin(&s);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", s.pid);
	FILE *map = fopen(path, "we");
	assert_non_null(map);
	fprintf(map, "10000000 100 made_first\n10000100 100 made_second\n");
	fclose(map);
	recording_start(&s.r);
	recording_map(&s.r, (uint32_t)s.pid, MADE_CODE, 0x1000, "//anon");
	sample(&s, MADE_CODE + 0x110, NULL);
	sample(&s, MADE_CODE + 0x120, NULL);
	sample(&s, MADE_CODE + 0x800, NULL); /* nothing is said of that */
	recording_finish(&s.r);
	assert_int_equal(unlink(path), 0);
	assert_true(recording_stashed(&s.r, "made_second"));
	assert_false(recording_stashed(&s.r, "made_first"));
	const struct table *flat = profile_table(s.r.got, PROFILE_FLAT);
	assert_int_equal(flat->count, 3);
	for (size_t row = 0; row < 3; row++)
		assert_int_equal(profile_image(s.r.got, table_keys(flat, row)[FLAT_IMAGE]).kind,
				 IMAGE_JIT);
	end(&s);
}

static void what_the_kernel_maps_into_programs_has_names(void **state)
{
	(void)state;
	struct subject s;
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, "__vdso_clock_gettime") : NULL;
	if (!function)
		SKIP("no vdso of this machine whose function is known");
	begin(&s);
	recording_start(&s.r);
	sample(&s, (uint64_t)(uintptr_t)function, NULL);
	recording_finish(&s.r);
	const struct table *flat = profile_table(s.r.got, PROFILE_FLAT);
	assert_int_equal(flat->count, 1);
	assert_int_equal(profile_image(s.r.got, table_keys(flat, 0)[FLAT_IMAGE]).kind, IMAGE_VDSO);
	/* Both are names of it. */
	assert_true(recording_stashed(&s.r, "__vdso_clock_gettime") ||
		    recording_stashed(&s.r, "clock_gettime"));
	end(&s);
	dlclose(library);
}

static void who_is_to_end_at_once_leaves_names_out_and_says_so(void **state)
{
	(void)state;
	struct subject s;
	begin(&s);
	recording_start(&s.r);
	sample(&s, (uint64_t)(uintptr_t)begin, NULL);
	s.r.wish = COLLECT_STOP;
	recording_finish(&s.r);
	assert_int_equal(recording_billed(&s.r, "cpu-clock", BILL_STORED), 1);
	assert_int_equal(recording_billed(&s.r, NULL, "left_out_names_asked"), 1);
	assert_false(recording_stashed(&s.r, "begin"));
	assert_non_null(strstr(s.r.notes,
			       "warning: names of 1 file left out, for we were asked to end: '"));
	end(&s);
}

#ifdef __x86_64__
/* Counts down to nothing: where it is going is known from one register. */
__asm__(".text\n.type count_down, @function\ncount_down:\n\tmov $9, %ecx\ncount_turn:\n\t"
	"dec %ecx\ncount_jump:\n\tjnz count_turn\n\tret\n.size count_down, . - count_down\n");
extern const char count_turn[], count_jump[];

static void where_branches_go_is_worked_out_from_registers(void **state)
{
	(void)state;
	enum { CX = 2, SP = 7, IP = 8 };
	struct subject s;
	uint64_t stack[4] = { 0 };
	uint64_t registers[64] = {
		[CX] = 4, [SP] = (uint64_t)(uintptr_t)stack, [IP] = (uint64_t)(uintptr_t)count_turn
	};
	begin(&s);
	s.r.options.edges = COLLECT_EDGES_ALL;
	s.r.options.overhead_percent = 100;
	recording_start(&s.r);
	sample(&s, registers[IP], registers);
	sample(&s, registers[IP], NULL);
	recording_finish(&s.r);
	assert_int_equal(recording_billed(&s.r, "cpu-clock", BILL_INTERPRETED), 1);
	assert_int_equal(recording_billed(&s.r, "cpu-clock", BILL_INTERPRET_UNFIT), 1);
	/* Three times back, and once on. */
	const struct table *edges = profile_table(s.r.got, PROFILE_EDGE);
	uint64_t back = 0, on = 0;
	for (size_t row = 0; row < edges->count; row++) {
		const uint64_t *keys = table_keys(edges, row);
		uint64_t distance = keys[EDGE_FROM_VADDR] - keys[EDGE_TO_VADDR];
		assert_int_equal(keys[EDGE_ORIGIN], ORIGIN_INTERPRETED);
		if (distance == (uint64_t)(count_jump - count_turn))
			back += table_values(edges, row)[0];
		else if (distance == (uint64_t)-2) /* the jump's size */
			on += table_values(edges, row)[0];
	}
	assert_int_equal(back, 3);
	assert_int_equal(on, 1);
	assert_true(recording_stashed(&s.r, "count_down"));
	end(&s);
}

static int no_count_of_losses(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->read_format & PERF_FORMAT_LOST ? -EINVAL : 0;
}

/* Where a record of memory that finds no room would count as a lost sample. */
static void an_older_kernels_samples_come_without_their_memory(void **state)
{
	(void)state;
	struct subject s;
	begin(&s);
	s.r.options.edges = COLLECT_EDGES_ALL;
	s.r.options.edge_memory = true;
	made_up.judge = no_count_of_losses;
	recording_start(&s.r);
	assert_non_null(strstr(s.r.notes, "memory at a sample's registers takes Linux 6.0: samples "
					  "are interpreted without it\n"));
	end(&s);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_a_process_made_is_named_by_its_map),
		cmocka_unit_test(what_the_kernel_maps_into_programs_has_names),
		cmocka_unit_test(who_is_to_end_at_once_leaves_names_out_and_says_so),
#ifdef __x86_64__
		cmocka_unit_test(where_branches_go_is_worked_out_from_registers),
		cmocka_unit_test(an_older_kernels_samples_come_without_their_memory),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

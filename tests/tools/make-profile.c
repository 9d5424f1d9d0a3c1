/*
 * make-profile KIND FILE - writes one of the profiles below, the same bytes each time;
 * make-profile KIND FILE cut-off - leaves it as FILE.open, as a killed recording does.
 * Command-line tests compare what culprit says of them with golden texts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/count_of.h"
#include "profile/bill.h"
#include "profile/stash.h"
#include "store/epoch.h"
#include "store/profile_file.h"
#include "support/test_profile.h"

#define MS UINT64_C(1000000)

static void add_clock_without(struct test_profile *test, const char *name, uint32_t excluded)
{
	struct profile_event event = { .name = span_of_text(name),
				       .unit = span_of_text("ns"),
				       .pmu = span_of_text("software"),
				       .type = 1,
				       .clock = EVENT_CLOCK,
				       .policy = PERIOD_RANDOM,
				       .period = MS,
				       .exclude = EXCLUDE_IDLE | excluded,
				       .sampled = 1 };
	test_event_full(test, &event);
}

static void add_clock(struct test_profile *test, const char *name)
{
	add_clock_without(test, name, 0);
}

static void as(struct test_profile *test, const char *comm, const char *cgroup)
{
	struct profile_context context = { .comm = span_of_text(comm),
					   .cgroup = span_of_text(cgroup) };
	test_context(test, &context);
}

static void add_clock_bill(struct test_profile *test, uint64_t stored)
{
	test_bill(test, test->event, BILL_RUNS, stored + 13);
	test_bill(test, test->event, BILL_STORED, stored);
	test_bill(test, test->event, BILL_LOST_RING, 12);
	test_bill(test, test->event, BILL_LOST_DAMAGED, 1);
	test_bill(test, test->event, "unknown_no_mapping", 2);
	test_bill(test, test->event, BILL_FILTERED, 0);
	test_bill(test, test->event, BILL_THROTTLED, 1);
	test_bill(test, test->event, BILL_SHORTFALL_NS, 25 * MS);
	test_bill(test, 0, BILL_ONLINE_NS, 20000 * MS);
	test_bill(test, 0, BILL_BUSY_NS, 12100 * MS);
	test_bill(test, 0, BILL_SELF_CPU_NS, 31 * MS);
	test_bill(test, 0, BILL_SELF_BYTES, 1 << 20);
	test_bill(test, 0, BILL_RING_BYTES, 654321);
}

/* A machine-wide recording by the clock: kernel, a compiler, a late procedure, unknown code. */
static void make_clock(struct test_profile *test)
{
	test_source(test, "web7", 2, 10000 * MS);
	add_clock(test, "cpu-clock");
	as(test, "cc1", "/build");
	test_image(test, IMAGE_FILE, "/usr/lib/gcc/cc1", "\x3f\xa9\x11\x02\x77");
	test_flat(test, "ht_lookup_with_hash", 5200, MS);
	test_flat(test, "ggc_internal_alloc", 2100, MS);
	test_flat(test, "_cpp_lex_direct", 904, MS);
	test_flat(test, "rarely", 7, MS);
	test_image(test, IMAGE_KERNEL, "[kernel]", "\x01\x02\x03\x04\x05");
	test_flat(test, "clear_page_erms", 1500, MS);
	test_flat(test, "_raw_spin_unlock_irqrestore", 430, MS);
	as(test, "swapper", "/");
	test_flat(test, "pv_native_safe_halt", 6000, MS);
	test_flat(test, "handle_softirqs", 60, MS);
	as(test, "make", "/build");
	test_image(test, IMAGE_FILE, "/usr/bin/make", "\xbe\xef\x00\x01\x02");
	test_flat(test, "eval_makefile", 800, MS);
	test_image(test, IMAGE_UNKNOWN, "no mapping", NULL);
	test_address(test, 0x7f0000001000, 2, MS);
	add_clock_bill(test, 17003);
}

/* The same, as if the samples of user code had been interpreted. */
static void make_interpreted(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, test->event, BILL_INTERPRETED, 3000);
	test_bill(test, test->event, BILL_INTERPRET_THINNED, 500);
	test_bill(test, test->event, BILL_INTERPRET_UNFIT, 20);
	test_bill(test, test->event, BILL_INTERPRET_LOST, 0);
	test_bill(test, test->event, BILL_INTERPRET_SILENT, 450);
	test_bill(test, test->event, BILL_INTERPRET_OUTCOMES, 6100);
	test_bill(test, test->event, BILL_INTERPRET_END_PREFIX "limit", 900);
	test_bill(test, test->event, BILL_INTERPRET_END_PREFIX "unknown_condition", 2100);
	test_bill(test, 0, BILL_INTERPRET_NS, 12 * MS);
}

/* As if CPUs had been idle at a high rate. */
static void make_idle(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, test->event, BILL_IDLE_INTERRUPTS, 2000);
	test_bill(test, test->event, BILL_IDLE_NS, 20 * MS);
	test_bill(test, test->event, BILL_IDLE_LOW_NS, 18 * MS);
	test_bill(test, test->event, BILL_IDLE_HIGH_NS, 24 * MS);
}

/* A command and what it took, of a machine that did other work besides. */
/* The same where programs in the kernel timed one sample in 64: 265 in the table, 60 stacks. */
static void make_timed(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, 0, BILL_TIMED_HITS, 200);
	test_bill(test, 0, BILL_TIMED_HIT_NS, 60000);
	test_bill(test, 0, BILL_TIMED_MISSES, 65);
	test_bill(test, 0, BILL_TIMED_MISS_NS, 72500);
	test_bill(test, 0, BILL_TIMED_STACKS, 60);
	test_bill(test, 0, BILL_TIMED_STACK_NS, 180000);
}

/* Stacks alone are walked in the kernel. */
static void make_timed_stacks(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, 0, BILL_TIMED_STACKS, 60);
	test_bill(test, 0, BILL_TIMED_STACK_NS, 180000);
}

static void make_command(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, test->event, BILL_FILTERED, 6579);
	test_bill(test, 0, BILL_COMMAND_ELAPSED_NS, 12345 * MS);
	test_bill(test, 0, BILL_COMMAND_USER_NS, 9200 * MS);
	test_bill(test, 0, BILL_COMMAND_SYSTEM_NS, 1900 * MS);
	test_bill(test, 0, BILL_SAMPLED_USER_NS, 9200 * MS);
	test_bill(test, 0, BILL_SAMPLED_SYSTEM_NS, 1900 * MS);
}

/* A command of which one side alone was sampled. */
static void make_side(struct test_profile *test, uint32_t excluded)
{
	test_source(test, "web7", 2, 10000 * MS);
	add_clock_without(test, "cpu-clock", excluded);
	as(test, "cc1", "/build");
	test_image(test, IMAGE_FILE, "/usr/lib/gcc/cc1", "\x3f\xa9\x11\x02\x77");
	test_flat(test, "ht_lookup_with_hash", 900, MS);
	/* all of both CPUs' time, by ticks that began before the 10 s and ended after them */
	test_bill(test, 0, BILL_ONLINE_NS, 20080 * MS);
	test_bill(test, 0, BILL_BUSY_NS, 20080 * MS);
	test_bill(test, 0, BILL_COMMAND_ELAPSED_NS, 5000 * MS);
	test_bill(test, 0, BILL_COMMAND_USER_NS, 1000 * MS);
	test_bill(test, 0, BILL_COMMAND_SYSTEM_NS, 3000 * MS);
	test_bill(test, 0, BILL_SAMPLED_USER_NS, 1000 * MS);
	test_bill(test, 0, BILL_SAMPLED_SYSTEM_NS, 3000 * MS);
}

static void make_user_side(struct test_profile *test)
{
	make_side(test, EXCLUDE_KERNEL);
}

static void make_kernel_side(struct test_profile *test)
{
	make_side(test, EXCLUDE_USER);
}

/* Processes that ran already. */
static void make_attached(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, 0, BILL_SAMPLED_USER_NS, 9000 * MS);
	test_bill(test, 0, BILL_SAMPLED_SYSTEM_NS, 2500 * MS);
}

/* As if it had been stepped now and then. */
static void make_stepped(struct test_profile *test)
{
	make_clock(test);
	test_bill(test, test->event, BILL_STEPPED, 120);
	test_bill(test, 0, BILL_BURSTS, 40);
	test_bill(test, 0, BILL_STEPS, 7800);
	test_bill(test, 0, BILL_BURST_NS, 195 * MS);
	test_bill(test, 0, BILL_BURST_END_PREFIX "done", 38);
	test_bill(test, 0, BILL_BURST_END_PREFIX "idle", 5);
	test_bill(test, 0, BILL_BURST_END_PREFIX "unsafe", 2);
}

static void add_counter(struct test_profile *test, const char *name, uint64_t config,
			const char *leader)
{
	struct profile_event event = { .name = span_of_text(name),
				       .unit = span_of_text(name),
				       .pmu = span_of_text("cpu"),
				       .config = config,
				       .policy = leader ? PERIOD_NONE : PERIOD_FIXED,
				       .period = leader ? 0 : 1000003,
				       .sampled = !leader,
				       .leader = span_of_text(leader) };
	test_event_full(test, &event);
}

/* Cycles and instructions, each with its own samples. */
static void make_counters(struct test_profile *test)
{
	test_source(test, "web7", 2, 10000 * MS);
	as(test, "numbers", "/");
	test_image(test, IMAGE_FILE, "/usr/bin/numbers", "\x3f\xa9\x11\x02\x77");
	add_counter(test, "cycles", 0, NULL);
	test_flat(test, "chase", 6000, 1000003);
	test_flat(test, "multiply", 3000, 1000003);
	test_flat(test, "start", 9, 1000003);
	test_bill(test, test->event, BILL_STORED, 9009);
	test_bill(test, test->event, BILL_ENABLED_NS, 10000 * MS);
	test_bill(test, test->event, BILL_RUNNING_NS, 7500 * MS);
	add_counter(test, "instructions", 1, NULL);
	test_flat(test, "chase", 600, 1000003);
	test_flat(test, "multiply", 9000, 1000003);
	test_bill(test, test->event, BILL_STORED, 9600);
}

/* One event's samples read the other's count. */
static void make_group(struct test_profile *test)
{
	test_source(test, "web7", 2, 10000 * MS);
	as(test, "numbers", "/");
	test_image(test, IMAGE_FILE, "/usr/bin/numbers", "\x3f\xa9\x11\x02\x77");
	add_counter(test, "cycles", 0, NULL);
	test_flat(test, "chase", 400, 1000000);
	test_flat(test, "multiply", 100, 1000000);
	add_counter(test, "instructions", 1, "cycles");
	struct cell chase = { 0, 200000000, (unsigned __int128)400 * 500000 * 510000 };
	struct cell multiply = { 0, 300000000, (unsigned __int128)100 * 3000000 * 3100000 };
	test_flat_cell(test, "chase", &chase);
	test_flat_cell(test, "multiply", &multiply);
}

/* Recursion, two callers of one procedure, and samples without a stack. */
static void make_stacks(struct test_profile *test)
{
	test_source(test, "web7", 2, 2000 * MS);
	add_clock(test, "cpu-clock");
	as(test, "app", "/");
	test_stack(test, "main;parse;walk;walk;walk;hash", 300, MS);
	test_stack(test, "main;parse;walk;hash", 200, MS);
	test_stack(test, "main;parse;walk", 100, MS);
	test_stack(test, "main;eval;hash", 250, MS);
	test_stack(test, "main;eval", 50, MS);
	test_stack(test, "main", 10, MS);
	test_flat(test, "hash", 40, MS);
	test_flat(test, "lonely", 50, MS);
}

/* As test_stack(); names after "k:" are the kernel's, the others the program's. */
static void add_mixed_cell(struct test_profile *test, uint32_t program, uint32_t kernel,
			   const char *stack, const struct cell *cell)
{
	uint32_t node = 0;
	struct profile_frame frame = { 0 };
	for (const char *at = stack; *at;) {
		size_t size = strcspn(at, ";");
		bool in_kernel = strncmp(at, "k:", 2) == 0;
		size_t mark = in_kernel ? 2 : 0;
		frame.image = in_kernel ? kernel : program;
		frame.kind = at[size] ? FRAME_RETURN : FRAME_IP;
		struct span name = { at + mark, size - mark };
		if (profile_add_bytes(test->profile, name, &frame.name) < 0 ||
		    profile_add_node(test->profile, node, &frame, &node) < 0)
			abort();
		at += size + (at[size] == ';');
	}
	if (profile_add_stack(test->profile, test->event, test->context, node, cell) < 0 ||
	    profile_add_flat(test->profile, test->event, test->context, &frame, cell) < 0)
		abort();
}

static void add_mixed_stack(struct test_profile *test, uint32_t program, uint32_t kernel,
			    const char *stack, uint64_t samples)
{
	struct cell cell = test_cell(samples, 1000003);
	add_mixed_cell(test, program, kernel, stack, &cell);
}

/* Stacks by frame pointers, through code that keeps none. */
static void make_broken(struct test_profile *test)
{
	test_source(test, "web7", 2, 2000 * MS);
	add_clock(test, "cpu-clock");
	as(test, "cc1", "/");
	uint32_t kernel = test_image(test, IMAGE_KERNEL, "[kernel]", "\1\2\3\4");
	uint32_t libc = test_image(test, IMAGE_FILE, "/lib/libc.so.6", "\5\6\7\10");
	uint32_t compiler = test_image(test, IMAGE_FILE, "/usr/lib/gcc/cc1", "\3\4\5\6");
	add_mixed_stack(test, compiler, kernel, "_start;main;parse", 480);
	add_mixed_stack(test, compiler, kernel, "lex", 300);
	add_mixed_stack(test, libc, kernel, "write;k:vfs_write", 100);
	add_mixed_stack(test, libc, kernel, "k:kthread;k:kswapd", 50);
	for (size_t i = 0; i < 6; i++) {
		char name[] = "/usr/lib/libx0.so", id[] = { (char)(i + 1), 9, 9, 9, 0 };
		name[13] = (char)('0' + i);
		uint32_t library = test_image(test, IMAGE_FILE, name, id);
		add_mixed_stack(test, library, kernel, "step", 20);
	}
}

/* Code that works, code that waits, recursion, and too few samples to say, with stacks. */
static void make_efficiency(struct test_profile *test)
{
	static const struct {
		const char *stack;
		uint64_t cycles, instructions; /* samples */
	} stacks[] = {
		{ "main;parse;scan", 3000, 9000 },
		{ "main;parse;hash", 2000, 1900 },
		{ "main;read_all;k:vfs_read;k:copy_user", 4000, 800 },
		{ "main;read_all;k:vfs_read;k:rarely", 12, 9 },
		{ "main;walk;walk;walk", 1000, 300 },
		{ "main;walk", 200, 80 },
	};
	test_source(test, "web7", 2, 10000 * MS);
	as(test, "numbers", "/");
	uint32_t program = test_image(test, IMAGE_FILE, "/usr/bin/numbers", "\x3f\xa9\x11\x02\x77");
	uint32_t kernel = test_image(test, IMAGE_KERNEL, "kernel", "\x21\x07\x55\x03\x19");
	add_counter(test, "cycles", 0, NULL);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		add_mixed_stack(test, program, kernel, stacks[i].stack, stacks[i].cycles);
	add_counter(test, "instructions", 1, NULL);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		add_mixed_stack(test, program, kernel, stacks[i].stack, stacks[i].instructions);
}

/* Slots lead a group with the four parts of TopDown; cycles were sampled, at four slots each. In
 * "scan" no work was thrown away, which was counted; "rarely" has too few samples to say. */
static void make_topdown(struct test_profile *test)
{
	static const struct {
		const char *stack;
		uint64_t samples;
		uint64_t percent[4]; /* retiring, bad speculation, frontend, backend */
	} stacks[] = {
		{ "main;parse;scan", 3000, { 80, 0, 10, 10 } },
		{ "main;parse;lex", 2000, { 40, 30, 20, 10 } },
		{ "main;walk", 4000, { 10, 5, 5, 80 } },
		{ "main;rarely", 12, { 25, 25, 25, 25 } },
	};
	static const char *const parts[] = { "topdown-retiring", "topdown-bad-spec",
					     "topdown-fe-bound", "topdown-be-bound" };
	test_source(test, "web7", 2, 10000 * MS);
	as(test, "numbers", "/");
	uint32_t program = test_image(test, IMAGE_FILE, "/usr/bin/numbers", "\x3f\xa9\x11\x02\x77");
	add_counter(test, "cycles", 0x3c, NULL);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		add_mixed_stack(test, program, 0, stacks[i].stack, stacks[i].samples);
	for (uint64_t event = 0; event < 5; event++) {
		add_counter(test, event ? parts[event - 1] : "slots",
			    event ? 0x8000 + 0x100 * (event - 1) : 0x400, "cycles");
		for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
			uint64_t n = stacks[i].samples;
			uint64_t each =
				40000 * (event ? stacks[i].percent[event - 1] : UINT64_C(100));
			/* half of the readings a fifth more, half of them a fifth less */
			struct cell cell = { 0, n * each,
					     (unsigned __int128)n * each * each / 25 * 26 };
			if (each)
				add_mixed_cell(test, program, 0, stacks[i].stack, &cell);
		}
	}
}

/* Everything that a context can keep. */
static void make_contexts(struct test_profile *test)
{
	test_source(test, "web7", 4, 1000 * MS);
	add_clock(test, "cpu-clock");
	for (uint64_t i = 0; i < 4; i++) {
		struct profile_context context = { .comm = span_of_text(i < 3 ? "server" : "cron"),
						   .cgroup = span_of_text(i < 3 ? "/web/a" : NULL),
						   .pid = optional_of(100 + i / 2),
						   .start_ns = optional_of(5 + i / 2),
						   .tid = optional_of(100 + i),
						   .thread = span_of_text(i % 2 ? "worker" : NULL),
						   .cpu = optional_of(i % 3) };
		test_context(test, &context);
		test_flat(test, "serve", 100 * (i + 1), MS);
	}
}

/* Where processes run: services of the machine and of a user, containers, a session. */
static void make_groups(struct test_profile *test)
{
#define GROUPS_CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *comm, *cgroup;
		uint64_t samples;
	} groups[] = {
		{ "nginx", "/system.slice/web.service", 300 },
		{ "nginx", "/system.slice/web.service/workers", 100 },
		{ "nginx", "/system.slice/shop.service", 200 },
		{ "nginx", "/user.slice/user-1000.slice/user@1000.service/app.slice/web.service",
		  50 },
		{ "bash", "/user.slice/user-1000.slice/session-3.scope", 40 },
		{ "nginx", "/system.slice/docker-" GROUPS_CONTAINER ".scope", 150 },
		{ "nginx", "/lxc.payload.old\033[2J/system.slice/web.service", 60 },
		{ "kworker", "/", 100 },
	};
	test_source(test, "web7", 4, 1000 * MS);
	add_clock(test, "cpu-clock");
	for (size_t i = 0; i < COUNT_OF(groups); i++) {
		as(test, groups[i].comm, groups[i].cgroup);
		test_flat(test, "serve", groups[i].samples, MS);
	}
}

/* Names that would do something to a terminal, and one that is no UTF-8. */
static void make_hostile(struct test_profile *test)
{
	test_source(test, "web7\033[2J", 2, 1000 * MS);
	add_clock(test, "cpu-clock");
	as(test, "evil\033]0;owned\007", "/\xff\n");
	test_flat(test, "f\nforged row", 30, MS);
	test_flat(test, "\xc3\xa9t\xc3\xa9", 60, MS);
	test_flat(test, "broken\xc3", 10, MS);
}

/*
 * Two builds of one program: a procedure that executes more, one whose CPI is
 * worse, one that came, one that went, a copy that the compiler named anew, a
 * library that stayed the same, and one sample here and there.
 */
static void make_build(struct test_profile *test, bool after)
{
	test_source(test, "web7", 2, (after ? 12000 : 10000) * MS);
	as(test, "numbers", "/");
	for (int counter = 0; counter < 2; counter++) {
		add_counter(test, counter ? "instructions" : "cycles", (uint64_t)counter, NULL);
		test_image(test, IMAGE_FILE, "/usr/bin/numbers",
			   after ? "\x77\x02\x11\xa9\x3f" : "\x3f\xa9\x11\x02\x77");
		test_flat(test, "chase", counter ? 600 : after ? 7500 : 6000, 1000003);
		test_flat(test, "multiply",
			  after	    ? counter ? 14000 : 4600
			  : counter ? 9000
				    : 3000,
			  1000003);
		test_flat(test, after ? "scan.isra.3" : "scan.isra.0", counter ? 700 : 400,
			  1000003);
		test_flat(test, "rarely", after ? 1 : 0, 1000003);
		test_flat(test, after ? "fresh" : "dropped", 150, 1000003);
		test_image(test, IMAGE_FILE, "/usr/lib/libm.so.6", "\x01\x02\x03\x04\x05");
		test_flat(test, "exp", after ? 1012 : 990, 1000003);
		test_image(test, IMAGE_FILE, after ? "/opt/libz.so.2" : "/opt/libz.so.1",
			   after ? "\x22\x22\x22\x22" : "\x11\x11\x11\x11");
		test_flat(test, "inflate", after ? 505 : 500, 1000003);
	}
	test_bill(test, test->event - 1, BILL_STORED, after ? 14173 : 11040);
	test_bill(test, test->event - 1, BILL_LOST_RING, after ? 600 : 3);
	test_bill(test, test->event - 1, BILL_THROTTLED, after ? 2 : 0);
}

static void make_build_before(struct test_profile *test)
{
	make_build(test, false);
}

static void make_build_after(struct test_profile *test)
{
	make_build(test, true);
}

/* A whole machine that was watched for a while, on two kernels. */
static void make_watch(struct test_profile *test, bool after)
{
	const struct profile_source source = {
		.host = span_of_text("web7"),
		.kernel = span_of_text(after ? "Linux 6.8.2" : "Linux 6.1.0"),
		.machine = span_of_text("x86_64"),
		.cpu_name = span_of_text("Testium 9000"),
		.command = span_of_text(after ? "culprit record -a --duration 20s"
					      : "culprit record -o old.prof -a --duration 10s"),
		.cpus = 2,
		.start_ns = UINT64_C(1700000000000000000) + (after ? 3600000 * MS : 0),
		.duration_ns = (after ? 20000 : 10000) * MS
	};
	if (profile_add_source(test->profile, &source) < 0)
		abort();
	add_clock(test, "cpu-clock");
	as(test, "server", "/web");
	test_image(test, IMAGE_FILE, "/usr/bin/server", "\x3f\xa9\x11\x02\x77");
	test_stack(test, "main;serve;parse", after ? 2400 : 1000, MS);
	test_stack(test, "main;serve;reply", after ? 4000 : 2000, MS);
	test_stack(test, "main;tick", after ? 400 : 200, MS);
	as(test, "batch", "/night");
	test_stack(test, "main;crunch", after ? 5000 : 3000, MS);
	test_stack(test, "main;crunch;rare", after ? 3 : 2, MS);
	as(test, "swapper", "/");
	test_image(test, IMAGE_KERNEL, "[kernel]", after ? "\x02\x02" : "\x01\x01");
	test_flat(test, "clear_page", after ? 900 : 300, MS);
}

static void make_watch_before(struct test_profile *test)
{
	make_watch(test, false);
}

static void make_watch_after(struct test_profile *test)
{
	make_watch(test, true);
}

static void make_empty(struct test_profile *test)
{
	test_source(test, "web7", 2, 1000 * MS);
	add_clock(test, "cpu-clock");
}

/* Fails the test: there is no memory, or our own record cannot be read. */
static void add_function(struct test_profile *test, uint64_t first, uint64_t size, const char *name)
{
	struct function_record function = { .name = span_of_text(name) };
	struct buffer content = { 0 };
	record_put_function(&content, first, &function);
	struct record record = {
		RECORD_FUNCTION, first, first + size - 1, { content.data, content.size }
	};
	if (buffer_failed(&content) || stash_add(test->profile, test->image, &record, NULL) < 0)
		abort();
	buffer_release(&content);
}

/* Images of 4096 addresses and 546 functions; each cell has its samples times `multiple`. */
static void make_large(struct test_profile *test, uint64_t cells, uint64_t multiple)
{
	enum { ADDRESSES = 4096, STRIDE = 32, FUNCTION = 240, PROCESS = 20000 };
	struct random_state random = random_seed(1);
	test_source(test, "web7", 2, 10000 * MS);
	add_clock(test, "cpu-clock");
	char name[64];
	for (uint64_t i = 0; i < cells; i++) {
		unsigned long long number = i;
		if (i % ADDRESSES == 0) {
			char id[24];
			snprintf(name, sizeof(name), "/usr/lib/lib%llu.so", number / ADDRESSES);
			snprintf(id, sizeof(id), "%08llu", number);
			test_image(test, IMAGE_FILE, name, id);
			for (uint64_t f = 0; f < ADDRESSES * STRIDE / FUNCTION; f++) {
				snprintf(name, sizeof(name), "function_%llu_%llu",
					 number / ADDRESSES, (unsigned long long)f);
				add_function(test, f * FUNCTION, FUNCTION, name);
			}
		}
		if (i % PROCESS == 0) {
			snprintf(name, sizeof(name), "process%llu", number / PROCESS);
			as(test, name, "/");
		}
		test_address(test, i % ADDRESSES * STRIDE + random_below(&random, 8) * 4,
			     (1 + random_below(&random, 9)) * multiple, MS);
	}
}

static const struct {
	const char *kind;
	void (*make)(struct test_profile *test);
} kinds[] = {
	{ "clock", make_clock },
	{ "interpreted", make_interpreted },
	{ "idle", make_idle },
	{ "stepped", make_stepped },
	{ "timed", make_timed },
	{ "timed-stacks", make_timed_stacks },
	{ "command", make_command },
	{ "attached", make_attached },
	{ "user-side", make_user_side },
	{ "kernel-side", make_kernel_side },
	{ "counters", make_counters },
	{ "group", make_group },
	{ "stacks", make_stacks },
	{ "broken", make_broken },
	{ "contexts", make_contexts },
	{ "groups", make_groups },
	{ "hostile", make_hostile },
	{ "empty", make_empty },
	{ "build-before", make_build_before },
	{ "build-after", make_build_after },
	{ "watch-before", make_watch_before },
	{ "watch-after", make_watch_after },
	{ "efficiency", make_efficiency },
	{ "topdown", make_topdown },
};

static bool make(struct test_profile *test, int argc, char **argv)
{
	if (strcmp(argv[1], "large") == 0 && argc == 5) {
		make_large(test, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
		return true;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].kind, argv[1]) == 0) {
			kinds[i].make(test);
			return true;
		}
	return false;
}

static int leave_open(const char *path, const struct profile *profile, struct error *err)
{
	struct epoch *epoch = NULL;
	int ret = epoch_open(path, EPOCH_KEEP_OLD, &epoch, err);
	if (ret == 0)
		ret = epoch_merge(epoch, profile, err);
	if (epoch)
		epoch_abandon(epoch);
	return ret;
}

int main(int argc, char **argv)
{
	struct test_profile test = test_profile_new();
	if (argc < 3 || !make(&test, argc, argv)) {
		fprintf(stderr,
			"usage: make-profile KIND FILE [cut-off] | large FILE CELLS MULTIPLE\n");
		return 2;
	}
	struct error err = { 0 };
	bool cut_off = argc == 4 && strcmp(argv[3], "cut-off") == 0;
	int ret = cut_off ? leave_open(argv[2], test.profile, &err)
			  : profile_file_write(argv[2], test.profile, &err);
	if (ret < 0)
		fprintf(stderr, "make-profile: %s\n", err.text);
	profile_free(test.profile);
	return ret < 0;
}

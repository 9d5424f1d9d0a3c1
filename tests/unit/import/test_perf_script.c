#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "import/formats.h"
#include "import/perf_script/perf_script_line.h"
#include "support/imported.h"
#include "support/random_profile.h"

static const struct import_options plain = { 0 };

static struct profile *must_read(const char *text, const struct import_options *options)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_perf_script, span_of_text(text), SIZE_MAX, options, &profile, &err) <
	    0)
		fail_msg("%s", err.text);
	return profile;
}

static void expect_stacks(const char *text, const char *wanted)
{
	CLEANUP(profile_freep) struct profile *profile = must_read(text, &plain);
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	imported_stacks(profile, &spelled);
	assert_string_equal(buffer_text(&spelled), wanted);
}

static void expect_leaves(const char *text, const char *wanted)
{
	CLEANUP(profile_freep) struct profile *profile = must_read(text, &plain);
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	imported_leaves(profile, &spelled);
	assert_string_equal(buffer_text(&spelled), wanted);
}

static void expect_sample(const char *line, const char *comm, uint64_t pid, uint64_t tid,
			  uint64_t period, const char *event, const char *rest)
{
	struct perf_script_sample sample;
	if (!perf_script_parse_sample(line, strlen(line), &sample))
		fail_msg("no sample: %s", line);
	if (!span_equal(sample.comm, span_of_text(comm)))
		fail_msg("comm '%.*s'", (int)sample.comm.size, (const char *)sample.comm.data);
	assert_int_equal(sample.pid, pid);
	assert_int_equal(sample.tid, tid);
	assert_int_equal(sample.period, period);
	if (!span_equal(sample.event, span_of_text(event)))
		fail_msg("event '%.*s'", (int)sample.event.size, (const char *)sample.event.data);
	if (!span_equal(sample.rest, span_of_text(rest)))
		fail_msg("rest '%.*s'", (int)sample.rest.size, (const char *)sample.rest.data);
}

#define IS(n) ((uint64_t)(n) + 1)

static void columns_are_told_by_their_form(void **state)
{
	(void)state;
	expect_sample("dd 29776 666709.771979:   10101010 cpu-clock: ", "dd", 0, IS(29776),
		      IS(10101010), "cpu-clock", "");
	expect_sample("java 19983 cycles:", "java", 0, IS(19983), 0, "cycles", "");
	expect_sample("noploop 21796 [001] 1410597.984841: instructions: ", "noploop", 0, IS(21796),
		      0, "instructions", "");
	expect_sample("FS Broker 5906  7564/7598  2574592.949428:          1 cycles:ppp: ",
		      "FS Broker 5906", IS(7564), IS(7598), IS(1), "cycles:ppp", "");
	expect_sample("Chrome 12 x  8/9 [000] 1.5: 3 cycles:u: ", "Chrome 12 x", IS(8), IS(9),
		      IS(3), "cycles:u", "");
	expect_sample("kworker/0:1H 77 [000] 1.5: 3 cpu/mem-loads/pp: 68 |OP LOAD|", "kworker/0:1H",
		      0, IS(77), IS(3), "cpu/mem-loads/pp", "68 |OP LOAD|");
	expect_sample(":23671 23671 [001] 152526.249937103:  1  cache-misses:u: ", ":23671", 0,
		      IS(23671), IS(1), "cache-misses:u", "");
	expect_sample("x 30594 [000] 13.8622: probe_x:main: (55d1db028560)", "x", 0, IS(30594), 0,
		      "probe_x:main", "(55d1db028560)");
	expect_sample(
		"   perf-exec  1952   336.954749814:   9 cycles:P:  ffffb849d9ae75ac [unknown] "
		"([kernel.kallsyms])",
		"perf-exec", 0, IS(1952), IS(9), "cycles:P",
		"ffffb849d9ae75ac [unknown] ([kernel.kallsyms])");
	expect_sample("sh 9 [000] KH 1.5: 3 cycles: ", "sh", 0, IS(9), IS(3), "cycles", "");
	expect_sample(":-1    -1/-1    [000] 1.5: 3 cycles: ", ":-1", 0, 0, IS(3), "cycles", "");
	expect_sample("swapper 0/0 1.5: 3 cycles: ", "swapper", IS(0), IS(0), IS(3), "cycles", "");
	expect_sample("x 0/7 1.5: 3 cycles: ", "x", 0, IS(7), IS(3), "cycles", "");
	expect_sample("sh 1.5: cycles: ", "sh", 0, 0, 0, "cycles", "");
	expect_sample("sh cycles: ", "sh", 0, 0, 0, "cycles", "");
	expect_sample("sh 9 1.5: ", "sh", 0, IS(9), 0, "", "");
	expect_sample("sh 9 1.5:  4005d0 main+0x3 (/bin/x)", "sh", 0, IS(9), 0, "",
		      "4005d0 main+0x3 (/bin/x)");
}

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The CPU time of one pass over the line, byte by byte. */
static double pass_seconds(const char *line, size_t size)
{
	volatile size_t blanks = 0;
	double before = cpu_seconds();
	for (size_t at = 0; at < size; at++)
		blanks += line[at] == ' ';
	return cpu_seconds() - before;
}

/* A command's name may end behind each word, and then all that follows is looked at again: a line
 * in which it could end a hundred times is not read hundreds of times. */
static void a_line_is_not_read_for_every_word_of_it(void **state)
{
	(void)state;
	static const char *const heads[] = { "a: ", "a ", "1 1.1: ( ", "1.1: ( " };
	static char line[8 << 20];
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		struct perf_script_sample sample;
		struct perf_script_frame leaf;
		for (size_t at = 0; at < sizeof(line); at++)
			line[at] = at < 256 ? heads[i][at % strlen(heads[i])] : " (/x"[at % 4];
		line[sizeof(line) - 1] = ')';
		double passes = INFINITY;
		for (int tries = 0; tries < 3 && passes > 12; tries++) {
			double pass = pass_seconds(line, sizeof(line)), before = cpu_seconds();
			perf_script_parse_sample(line, sizeof(line), &sample);
			perf_script_parse_columns((struct span){ line, sizeof(line) }, &sample,
						  &leaf);
			passes = (cpu_seconds() - before) / pass;
		}
		if (passes > 12)
			fail_msg("'%s...': %.0f passes", heads[i], passes);
	}
}

static void other_lines_begin_no_sample(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		" ",
		"hello",
		"hello world",
		"main;read 27",
		"sh 9",
		"sh 9 ",
		"9 9 9",
		"7f72421d2d76 call(int, long) (/x.so)",
		"[ perf record: Woken up 1 times ]",
		"sh 99999999999999999999999 1.5 cycles",
		"a;b 1.5",
		"12: 13:",
	};
	struct perf_script_sample sample;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		if (perf_script_parse_sample(lines[i], strlen(lines[i]), &sample))
			fail_msg("a sample: %s", lines[i]);
}

static void expect_frame(const char *line, uint64_t address, const char *name, const char *dso)
{
	struct perf_script_frame frame;
	if (!perf_script_parse_frame(line, strlen(line), &frame))
		fail_msg("no frame: %s", line);
	assert_int_equal(frame.address, address);
	if (!span_equal(frame.name, span_of_text(name)))
		fail_msg("name '%.*s'", (int)frame.name.size, (const char *)frame.name.data);
	if (!span_equal(frame.dso, span_of_text(dso)))
		fail_msg("dso '%.*s'", (int)frame.dso.size, (const char *)frame.dso.data);
}

static void frames_of_all_languages(void **state)
{
	(void)state;
	expect_frame("\t          4005d0 main+0x13 (/bin/x)", 0x4005d0, "main", "/bin/x");
	expect_frame("ffffffff8103d0ca native_write_msr ([kernel.kallsyms])", 0xffffffff8103d0ca,
		     "native_write_msr", "[kernel.kallsyms]");
	expect_frame("\t 6ce258d4c544155 [unknown] ([unknown])", 0x6ce258d4c544155, "",
		     "[unknown]");
	expect_frame("\t    7f1e2215d058  (/lib/libc-2.15.so)", 0x7f1e2215d058, "",
		     "/lib/libc-2.15.so");
	expect_frame("\t 1 base(BasicType) const (/lib/x.so)", 1, "base(BasicType) const",
		     "/lib/x.so");
	expect_frame("\t 1 operator()(int)+0x4 (/tmp/x (deleted))", 1, "operator()(int)",
		     "/tmp/x (deleted)");
	expect_frame("\t 1 Lcom/foo;::bar(I)V (/tmp/perf-12.map)", 1, "Lcom/foo;::bar(I)V",
		     "/tmp/perf-12.map");
	expect_frame("\t 1 LazyCompile:~f x.js:39 (/tmp/perf-12.map)", 1, "LazyCompile:~f x.js:39",
		     "/tmp/perf-12.map");
	expect_frame("\t 1 cmd/go.(*Package).load+0x1 (/bin/go)", 1, "cmd/go.(*Package).load",
		     "/bin/go");
	expect_frame("\t 1 main (/dir (old)/x)", 1, "main", "/dir (old)/x");
	expect_frame("\t 1 main", 1, "main", "");
	expect_frame("\tmain (/bin/x)", 0, "main", "/bin/x");
	expect_frame("\t 1 inner (inlined)", 1, "inner", "inlined");
}

static void a_leaf_ends_the_line_behind_other_fields(void **state)
{
	(void)state;
	static const struct {
		const char *rest;
		uint64_t address;
		const char *name;
	} cases[] = {
		{ "4005d0 main+0x1 (/bin/x)", 0x4005d0, "main" },
		{ "7ffe10 4005d0 main (/bin/x)", 0x4005d0, "main" },
		{ "4005d0 add (/bin/x)", 0x4005d0, "add" },
		{ "4005d0 f(unsigned int, bad) (/bin/x)", 0x4005d0, "f(unsigned int, bad)" },
		{ "ffff8818 68100142 |OP LOAD|LVL L1 hit|BLK  N/A   12  4005d0 main (/bin/x)",
		  0x4005d0, "main" },
		{ "4005d0 [unknown] ([kernel.kallsyms])", 0x4005d0, "" },
	};
	struct perf_script_frame frame;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		if (!perf_script_parse_leaf(span_of_text(cases[i].rest), &frame))
			fail_msg("no leaf: %s", cases[i].rest);
		assert_int_equal(frame.address, cases[i].address);
		assert_true(span_equal(frame.name, span_of_text(cases[i].name)));
	}
	assert_false(perf_script_parse_leaf(span_of_text(""), &frame));
	assert_false(perf_script_parse_leaf(span_of_text("(55d1db028560)"), &frame));
	assert_false(perf_script_parse_leaf(span_of_text("prev_comm=x next_pid=3"), &frame));
}

static const char two_threads[] = "a b 1/2 [000] 1.5: 10 cycles: \n"
				  "\t   20 leaf+0x1 (/bin/x)\n"
				  "\t   10 main+0x2 (/bin/x)\n"
				  "\n"
				  "a b 1/2 [001] 2.5: 32 cycles: \n"
				  "\t   20 leaf+0x1 (/bin/x)\n"
				  "\t   10 main+0x2 (/bin/x)\n"
				  "\n"
				  "a b 1/3 [001] 2.5: 5 instructions:u: \n"
				  "\tffff sys_read ([kernel.kallsyms])\n"
				  "\t   30 [unknown] (/lib/y.so)\n"
				  "\t   10 main+0x7 (/bin/x)\n"
				  "\n";

static void chains_become_stacks_and_events_stay_apart(void **state)
{
	(void)state;
	expect_stacks(
		two_threads,
		"cycles [a b 1 2] /bin/x!main|/bin/x!leaf 2 42\n"
		"instructions:u [a b 1 3] /bin/x!main|/lib/y.so!0x30|kernel.kallsyms!sys_read "
		"1 5\n");
	expect_leaves(two_threads, "cycles [a b 1 2] /bin/x!leaf 2 42\n"
				   "instructions:u [a b 1 3] kernel.kallsyms!sys_read 1 5\n");
	/* the last sample needs no empty line behind it, the last line no newline */
	expect_stacks("a 2 cycles:\n10 f (/x)\n20 g (/x)\n\na 2 cycles:\n10 f (/x)",
		      "cycles [a 2] /x!f 1 1\ncycles [a 2] /x!g|/x!f 1 1\n");
}

static void a_sample_without_chain_is_a_leaf_alone(void **state)
{
	(void)state;
	static const char text[] = "  dd 9 1.5: 10 cycles:  4005d0 add ([nf_tables])\n"
				   "  dd 9 1.6: 20 cycles:  4005d0 add ([nf_tables])\n"
				   "  sh 8 1.7: sched:switch: prev=3 (x)\n";
	expect_leaves(text, "cycles [dd 9] nf_tables!add 2 30\nsched:switch [sh 8] 0x0 1 1\n");
	expect_stacks(text, "");
	/* a chain without frames */
	expect_leaves("sh 8 1.7: 3 cycles: \n\nsh 8 1.7: 4 cycles: \n\n",
		      "cycles [sh 8] 0x0 2 7\n");
}

static void inlined_frames_are_in_the_image_of_their_caller(void **state)
{
	(void)state;
	expect_stacks("a 2 cycles:\n"
		      "\t 30 inner (inlined)\n"
		      "\t 30 middle (inlined)\n"
		      "\t 30 outer+0x4 (/bin/x)\n"
		      "\t 10 main+0x4 (/bin/y)\n",
		      "cycles [a 2] /bin/y!main|/bin/x!outer|/bin/x!middle|/bin/x!inner 1 1\n");
	expect_stacks("a 2 cycles:\n\t 3 Lx;::a->Ly;::b->Lz;::c (/tmp/perf-2.map)\n"
		      "\t 1 X::operator->() (/bin/x)\n",
		      "cycles [a 2] /bin/x!X::operator->()|perf-2.map!Lx;::a|perf-2.map!Ly;::b|"
		      "perf-2.map!Lz;::c 1 1\n");
}

static void expect_kind(struct profile *profile, const char *name, uint64_t kind)
{
	const struct table *images = profile_table(profile, PROFILE_IMAGE);
	for (size_t id = 1; id <= images->count; id++) {
		struct profile_image image = profile_image(profile, id);
		if (!span_equal(image.name, span_of_text(name)))
			continue;
		assert_int_equal(image.kind, kind);
		return;
	}
	fail_msg("no image '%s'", name);
}

static void images_are_told_by_perfs_names_of_them(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile =
		must_read("a 2 cycles:\n\t 1 a ([kernel.kallsyms])\n\t 1 a (/x/build/vmlinux)\n"
			  "\t 1 a (/lib/modules/1/x/nf_tables.ko.xz)\n\t 1 a ([xfs])\n"
			  "\t 1 a ([vdso])\n\t 1 a ([heap])\n\t 1 a (//anon)\n"
			  "\t 1 a (bpf_prog_6deef7357e7b4530_x)\n\t 1 a (/tmp/perf-77.map)\n"
			  "\t 1 a (/x/jitted-12-3.so)\n\t 1 a (/x/perf-a.map)\n"
			  "\t 1 a (/x/y (deleted))\n\t 1 a ([unknown])\n",
			  &plain);
	expect_kind(profile, "kernel.kallsyms", IMAGE_KERNEL);
	expect_kind(profile, "vmlinux", IMAGE_KERNEL);
	expect_kind(profile, "nf_tables", IMAGE_MODULE);
	expect_kind(profile, "xfs", IMAGE_MODULE);
	expect_kind(profile, "vdso", IMAGE_VDSO);
	expect_kind(profile, "[heap]", IMAGE_NAME);
	expect_kind(profile, "//anon", IMAGE_NAME);
	expect_kind(profile, "bpf_prog_6deef7357e7b4530_x", IMAGE_BPF);
	expect_kind(profile, "perf-77.map", IMAGE_JIT);
	expect_kind(profile, "jitted-12-3.so", IMAGE_JIT);
	expect_kind(profile, "/x/perf-a.map", IMAGE_NAME);
	expect_kind(profile, "/x/y (deleted)", IMAGE_NAME);
	expect_kind(profile, "", IMAGE_UNKNOWN);
}

static const char with_header[] =
	"# ========\n"
	"# captured on    : Sat Sep  4 10:27:47 2021\n"
	"# hostname : box\n"
	"# os release : 5.11.0\n"
	"# arch : x86_64\n"
	"# nrcpus online : 4\n"
	"# cpudesc : A CPU\n"
	"# cpuid : GenuineIntel,6,94,3\n"
	"# cmdline : perf record -c 1000 x: y \n"
	"# event : name = cycles:u, , id = { 1, 2 }, type = 0 (PERF_TYPE_HARDWARE), size = 112, { "
	"sample_period, sample_freq } = 1000, exclude_kernel = 1, precise_ip = 2\n"
	"# event : name = cpu-clock, type = 1, { sample_period, sample_freq } = 99, freq = 1\n"
	"# sample duration :     70.273 ms\n"
	"# ========\n"
	"a 2 1.0: cycles:u: \n\t 1 f (/x)\n\n"
	"a 2 1.0: cpu-clock: \n\t 1 f (/x)\n\n"
	"a 2 1.0: 250 task-clock: \n\t 1 f (/x)\n\n";

static void the_header_tells_of_machine_and_events(void **state)
{
	(void)state;
	expect_stacks(with_header, "cpu-clock [a 2] /x!f 1 1\ncycles:u [a 2] /x!f 1 1000\n"
				   "task-clock [a 2] /x!f 1 250\n");
	CLEANUP(profile_freep) struct profile *profile = must_read(with_header, &plain);
	struct profile_event cycles = profile_event(profile, 1);
	assert_true(span_equal(cycles.unit, span_of_text("cycles")));
	assert_int_equal(cycles.policy, PERIOD_FIXED);
	assert_int_equal(cycles.period, 1000);
	assert_int_equal(cycles.exclude, EXCLUDE_KERNEL);
	assert_int_equal(cycles.precise, 2);
	assert_int_equal(cycles.sampled, 1);
	assert_int_equal(cycles.origin, ORIGIN_IMPORTED);
	struct profile_event clock = profile_event(profile, 2);
	assert_true(span_equal(clock.unit, span_of_text("samples"))); /* no line says how many ns */
	assert_int_equal(clock.policy, PERIOD_FREQUENCY);
	assert_int_equal(clock.period, 99);
	struct profile_event task = profile_event(profile, 3);
	assert_true(span_equal(task.unit, span_of_text("ns")));
	assert_int_equal(task.clock, EVENT_CLOCK);
	struct profile_source source = profile_source(profile, 0);
	assert_true(span_equal(source.host, span_of_text("box")));
	assert_true(span_equal(source.kernel, span_of_text("5.11.0")));
	assert_true(span_equal(source.cpu_vendor, span_of_text("GenuineIntel")));
	assert_true(span_equal(source.cpu_model, span_of_text("06-5e-03")));
	assert_true(span_equal(source.command, span_of_text("perf record -c 1000 x: y")));
	assert_int_equal(source.cpus, 4);
	assert_int_equal(source.duration_ns, 70273000);
}

static void expect_said(const char *text, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer said = { 0 };
	const struct import_options options = { .say = imported_say, .say_context = &said };
	CLEANUP(profile_freep) struct profile *profile = must_read(text, &options);
	assert_string_equal(buffer_text(&said), wanted);
}

static void what_is_left_out_is_told(void **state)
{
	(void)state;
	expect_said(two_threads, "");
	expect_said("noise\na 2 cycles:\n\t 1 f (/x)\n\nmore noise\n\t 1 f (/x)\n",
		    "warning: 3 of 6 lines begin no sample and belong to none and are left out "
		    "(line 1, 5, 6)\n");
	expect_said("a 2 cycles:\n\t 1 f (/x)\n  x.c:12\n  0x40/0x50/P/-/-/0\n\n",
		    "note: what stands behind call chains and is no frame is left out\n");
	expect_said("a 2 1.0: PERF_RECORD_MMAP 1/2: [0x1(0x2) @ 0]: r-xp /x\n"
		    "a 2 1.0: PERF_RECORD_LOST lost 12\na 2 cycles:\n\t 1 f (/x)\n",
		    "note: 2 lines are records of other kinds than samples\n"
		    "warning: 12 samples were lost while recording\n");
	expect_said("a 2 cycles:\n\t 1 f (/x)",
		    "note: no newline ends its last line: if the file was cut off, that "
		    "line may be too\n");
}

static void expect_refusal(struct span text, int code, const char *sentence)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	assert_int_equal(imported(&importer_perf_script, text, SIZE_MAX, &plain, &profile, &err),
			 code);
	assert_string_equal(err.text, sentence);
	assert_null(profile);
}

static void damage_is_refused_or_what_comes_before_kept(void **state)
{
	(void)state;
	static const char cut[] = "a 2 cycles:\n\t 1 f (/x)\n\na 2 cycles:\n\t 1 f (/x)\n\t 2 g (/";
	expect_refusal(span_of_text(cut), -EBADMSG, "line 6: the text ends inside a call chain");
	expect_refusal((struct span){ "a 2 cycles:\n\0\n", 14 }, -EBADMSG,
		       "line 2: a zero byte, which text does not have");
	expect_refusal(span_of_text("a 2 1.0: 18446744073709551614 x:\n\na 2 1.0: 9 x:\n"),
		       -EOVERFLOW, "line 3: the periods of its event pass 64 bits");
	expect_refusal(span_of_text("# captured on: x\n"), -ENODATA,
		       "no line of 1 begins a sample");
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(buffer_release) struct buffer spelled = { 0 };
	const struct import_options force = { .force = true,
					      .say = imported_say,
					      .say_context = &said };
	CLEANUP(profile_freep) struct profile *profile = must_read(cut, &force);
	imported_stacks(profile, &spelled);
	assert_string_equal(buffer_text(&spelled), "cycles [a 2] /x!f 1 1\n");
	assert_string_equal(buffer_text(&said), "warning: line 6: the text ends inside a call "
						"chain; what comes before is kept\n");
}

static void the_size_of_pieces_makes_no_difference(void **state)
{
	(void)state;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *whole = must_read(with_header, &plain);
	for (size_t piece = 1; piece < sizeof(with_header); piece += 7) {
		CLEANUP(profile_freep) struct profile *profile = NULL;
		assert_int_equal(imported(&importer_perf_script, span_of_text(with_header), piece,
					  &plain, &profile, &err),
				 0);
		assert_true(profiles_are_identical(whole, profile));
	}
}

/* Cut anywhere, any byte changed: an answer or a sentence, never more samples than lines. */
static void damage_anywhere_is_survived(void **state)
{
	(void)state;
	char copy[sizeof(two_threads)];
	for (size_t i = 0; i < 3 * sizeof(copy); i++) {
		size_t size = i < sizeof(copy) ? i : sizeof(copy) - 1;
		struct profile *profile = NULL;
		struct error err = { 0 };
		memcpy(copy, two_threads, sizeof(copy));
		if (i >= sizeof(copy))
			copy[i % (sizeof(copy) - 1)] ^= i < 2 * sizeof(copy) ? 1 : (char)0x80;
		int ret = imported(&importer_perf_script, (struct span){ copy, size }, 5, &plain,
				   &profile, &err);
		if (ret < 0)
			assert_true(err.text[0] != 0);
		profile_free(profile);
	}
}

static void recognised_by_content(void **state)
{
	(void)state;
	static const char *const yes[] = {
		two_threads,
		with_header,
		"\xef\xbb\xbf# captured on: x\n",
		"  dd 9 1.5: 10 cycles:  4005d0 add ([x])\n",
		"java 1 cycles:\r\n1 f (/x)\r\n",
		"x 3 [000] 1.5: probe_x:main: (55d1)\n",
		"noise\na 2 cycles:\n\t1 f (/x)\n",
	};
	static const char *const no[] = {
		"",
		"\n",
		"# a comment\n",
		"main;read 27\n",
		"a 1.5: b\n",
		"@ x [5 samples]\n",
		"version: 1\ncreator: callgrind-3.10\n",
		"Warning: processed:\n more\n",
	};
	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_true(importer_perf_script.recognise(yes[i], strlen(yes[i])));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(importer_perf_script.recognise(no[i], strlen(no[i])));
}

#define FRAME(address, name) "\t            " address " " name "\n"
#define LEAF(address, name)  "     " address " " name "\n"

/* Each text by pieces of one byte and as a whole; recognised too. */
static void expect_bare(const char *text, const char *wanted,
			void (*spell)(const struct profile *profile, struct buffer *out))
{
	const size_t pieces[] = { SIZE_MAX, 1 };
	if (!importer_perf_script.recognise(text, strlen(text)))
		fail_msg("not recognised: %s", text);
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		CLEANUP(profile_freep) struct profile *profile = NULL;
		CLEANUP(buffer_release) struct buffer spelled = { 0 };
		const struct import_options options = { .recognised = true };
		struct error err = { 0 };
		if (imported(&importer_perf_script, span_of_text(text), pieces[i], &options,
			     &profile, &err) < 0)
			fail_msg("%s: %s", err.text, text);
		spell(profile, &spelled);
		if (strcmp(buffer_text(&spelled), wanted) != 0)
			fail_msg("'%s' is not '%s' in: %s", buffer_text(&spelled), wanted, text);
	}
}

/* -F comm,tid,ip,sym and its like: a line of any columns, a chain, a blank line. */
static void chains_without_time_and_event_are_samples(void **state)
{
	(void)state;
	static const char chain[] = FRAME("1153", "leaf") FRAME("11d6", "main") "\n";
	static const struct {
		const char *head, *stack;
	} cases[] = {
		{ "w  4097 \n", "samples [w 4097] main|leaf 2 2\n" },
		{ "Web Content  4097 \n", "samples [Web Content 4097] main|leaf 2 2\n" },
		{ "Thread 12  4097 \n", "samples [Thread 12 4097] main|leaf 2 2\n" },
		{ "w  4097/4098  \n", "samples [w 4097 4098] main|leaf 2 2\n" },
		{ "swapper     0 [000] \n", "samples [swapper 0] main|leaf 2 2\n" },
		{ "w  4097 U     \n", "samples [w 4097] main|leaf 2 2\n" },
		{ "w \n", "samples [w] main|leaf 2 2\n" },
		{ " 4097 \n", "samples [ 4097] main|leaf 2 2\n" },
		{ "\n", "samples main|leaf 2 2\n" },
		{ " 1471.928157: \n", "samples main|leaf 2 2\n" },
		{ " cpu-clock: \n", "cpu-clock main|leaf 2 2\n" },
		{ "perf  4126 prev_comm=perf prev_pid=4126 ==> next_pid=18 next_prio=0\n",
		  "samples [perf 4126] main|leaf 2 2\n" },
		/* ten columns are a period's, and so is what no thread's number reaches */
		{ "w    2000000 \n", "samples [w] main|leaf 2 4000000\n" },
		{ "w 20000000000 \n", "samples [w] main|leaf 2 40000000000\n" },
		{ "w  4097    2000000 \n", "samples [w 4097] main|leaf 2 4000000\n" },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		buffer_printf(&text, "%s%s%s%s", cases[i].head, chain, cases[i].head, chain);
		expect_bare(buffer_text(&text), cases[i].stack, imported_stacks);
	}
	/* a sample without a chain counts where nothing but blank lines tells it */
	expect_bare("\n" FRAME("1153", "leaf") "\n\n\n\n" FRAME("1153", "leaf") "\n",
		    "samples leaf 2 2\n", imported_stacks);
	/* -F ip: an address is a place */
	expect_bare("\n\t            1153\n\t            11d6\n\n", "samples 0x11d6|0x1153 1 1\n",
		    imported_stacks);
	expect_bare("w  4097 PERF_RECORD_MMAP2 4097/4097: [0x55(0x10) @ 0]: r-xp /bin/w\n"
		    "w  4097 \n" FRAME("1153", "leaf") "\n",
		    "samples [w 4097] leaf 1 1\n", imported_stacks);
}

/* The same without -g: the place ends the line. */
static void lines_that_end_in_an_aligned_address_are_samples(void **state)
{
	(void)state;
	static const struct {
		const char *text, *stack;
	} cases[] = {
		{ "               w  4121 " LEAF("5613bcc09179", "leaf"),
		  "samples [w 4121] leaf 2 2\n" },
		{ "               w " LEAF("5613bcc09179", "leaf"), "samples [w] leaf 2 2\n" },
		/* an address without a letter is no period */
		{ "               w  4121 " LEAF(
			  "5613bcc09179", "leaf") "               w  4121 " LEAF("558914089798",
										 "leaf"),
		  "samples [w 4121] leaf 4 4\n" },
		{ LEAF("5613bcc09179", "leaf"), "samples leaf 2 2\n" },
		{ LEAF("5613bcc09179", "leaf (/bin/w)"), "samples /bin/w!leaf 2 2\n" },
		{ "               w    2000000 " LEAF("5613bcc09179", "leaf"),
		  "samples [w] leaf 2 4000000\n" },
		{ " 1473.841008: " LEAF("5613bcc09179", "leaf"), "samples leaf 2 2\n" },
		{ "               w  4121  1473.841008: cpu-clock: " LEAF("5613bcc09179", "leaf"),
		  "cpu-clock [w 4121] leaf 2 2\n" },
		/* other columns around it */
		{ "               w  4101  1473.052476:    2000000 cpu-clock: "
		  "               0 " LEAF("55c3eb68c179", "leaf+0x17 (/bin/w) insn: 48 31 c2"),
		  "cpu-clock [w 4101] /bin/w!leaf 2 4000000\n" },
		{ "               w  4101  1473.052476:    2000000 cpu-clock: " LEAF(
			  "55c3eb68c179", "leaf+0x17 (/bin/w)               0"),
		  "cpu-clock [w 4101] /bin/w!leaf 2 4000000\n" },
		/* no place, and an accessed address that is no period */
		{ "               w  4101  1473.052476:                0\n",
		  "samples [w 4101] 0x0 2 2\n" },
		{ "              sh  4126 [000]  1476.100000: prev_comm=sh prev_pid=4126\n",
		  "samples [sh 4126] 0x0 2 2\n" },
		{ "   2000000 cpu-clock:u: " LEAF("5613bcc09179", "leaf (/bin/w)"),
		  "cpu-clock:u /bin/w!leaf 2 4000000\n" },
		/* without a command, and with a period where the TID could be */
		{ "   2000000 cpu-clock: \n", "cpu-clock 0x0 2 4000000\n" },
		{ "               w    2000000 cpu-clock: \n", "cpu-clock [w] 0x0 2 4000000\n" },
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		buffer_printf(&text, "%s%s", cases[i].text, cases[i].text);
		expect_bare(buffer_text(&text), cases[i].stack, imported_leaves);
	}
}

/* Lines of other texts have words that look like perf's. */
static void most_lines_must_be_perfs(void **state)
{
	(void)state;
	static const char *const no[] = {
		"               w  4097 \n               w  4097 \n",
		"ELF Header:\n  ABI Version:                       0\n  Type: DYN (PIE)\n",
		"     0.045 ( 0.011 ms): ls/17 brk()          = 0x558af0b1a000\n"
		"     0.271 ( 0.014 ms): ls/17 access(\"x\")   = -1 ENOENT (No such file)\n",
		"00001000 <_init>:\n    1000:\t48 83 ec 08   sub $0x8,%rsp (x)\n"
		"00001020 <main>:\n    1020:\tc3   ret\n",
		"   12345678 read\n       9999 write\n",
		"                12345678 read\n                    9999 write\n",
		"Call graph:\n    2000 Thread_1   DispatchQueue_1: main  (serial)\n"
		"      2000 start  (in dyld) + 1903  [0x18f2a]\n",
	};
	for (size_t i = 0; i < COUNT_OF(no); i++)
		if (importer_perf_script.recognise(no[i], strlen(no[i])))
			fail_msg("recognised: %s", no[i]);
	/* what follows a sample may be other text */
	CLEANUP(buffer_release) struct buffer text = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	const struct import_options options = { .recognised = true };
	struct error err = { 0 };
	buffer_append_text(&text, "sh 9 1.5: 10 cycles: \n\t  4005d0 main (/bin/sh)\n\n");
	for (int i = 0; i < 5; i++)
		buffer_append_text(&text, "and so on\n");
	assert_false(importer_perf_script.recognise(text.data, text.size));
	assert_int_equal(imported(&importer_perf_script, (struct span){ text.data, text.size },
				  SIZE_MAX, &options, &profile, &err),
			 -ENODATA);
	assert_string_equal(err.text, "5 of 8 lines are not what perf script prints; --format "
				      "perf-script takes the others");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_told_by_their_form),
		cmocka_unit_test(a_line_is_not_read_for_every_word_of_it),
		cmocka_unit_test(other_lines_begin_no_sample),
		cmocka_unit_test(frames_of_all_languages),
		cmocka_unit_test(a_leaf_ends_the_line_behind_other_fields),
		cmocka_unit_test(chains_become_stacks_and_events_stay_apart),
		cmocka_unit_test(a_sample_without_chain_is_a_leaf_alone),
		cmocka_unit_test(inlined_frames_are_in_the_image_of_their_caller),
		cmocka_unit_test(images_are_told_by_perfs_names_of_them),
		cmocka_unit_test(the_header_tells_of_machine_and_events),
		cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(damage_is_refused_or_what_comes_before_kept),
		cmocka_unit_test(the_size_of_pieces_makes_no_difference),
		cmocka_unit_test(damage_anywhere_is_survived),
		cmocka_unit_test(recognised_by_content),
		cmocka_unit_test(chains_without_time_and_event_are_samples),
		cmocka_unit_test(lines_that_end_in_an_aligned_address_are_samples),
		cmocka_unit_test(most_lines_must_be_perfs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

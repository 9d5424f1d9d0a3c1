#include "import/text/other_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"
#include "base/utf8.h"
#include "import/text/text_lines.h"

#define LINES_SEEN 300 /* marks further down are not looked for */

#define RECORDING "give culprit the perf.data file itself, or what 'perf script' prints"
#define HEAP_PROFILE                                                                               \
	"'go tool pprof -proto FILE' or 'pprof -proto FILE' writes it as a file that culprit "     \
	"reads"

/* ---- marks: how a line begins, or what stands within one */

enum where { AT_START, BEHIND_BLANKS, WITHIN };

static const struct {
	enum where where;
	const char *mark;
	struct other_text text;
} marks[] = {
	{ AT_START, "# Overhead", { "the report of 'perf report --stdio'", RECORDING } },
	{ AT_START, "# Children", { "the report of 'perf report --stdio'", RECORDING } },
	{ AT_START, "# Total Lost Samples:", { "the report of 'perf report --stdio'", RECORDING } },
	{ AT_START,
	  "# To display the perf.data header",
	  { "the report of 'perf report --stdio'", RECORDING } },
	{ AT_START, "# Baseline", { "the report of 'perf diff'", RECORDING } },
	{ WITHIN, "Source code & Disassembly of", { "the output of 'perf annotate'", RECORDING } },
	{ WITHIN, "Performance counter stats for", { "the output of 'perf stat'", NULL } },
	{ WITHIN, "Summary of events:", { "the summary of 'perf trace'", NULL } },
	{ WITHIN, "Total duration (msec)", { "the report of 'perf sched'", NULL } },
	{ WITHIN, "\"linux-perf-json-version\"", { "JSON of 'perf data convert'", RECORDING } },
	{ WITHIN, "%--", { "the report of 'perf report --stdio'", RECORDING } },
	{ WITHIN, "  [.] ", { "the report of 'perf report --stdio'", RECORDING } },
	{ WITHIN, "  [k] ", { "the report of 'perf report --stdio'", RECORDING } },
	{ WITHIN, "raw event: size", { "the dump of 'perf script -D'", RECORDING } },
	{ WITHIN, "|   Runtime ms  |", { "the report of 'perf sched'", NULL } },
	{ WITHIN, " ms): ", { "the output of 'perf trace'", NULL } },
	{ AT_START, "heap profile:", { "a heap profile as text", HEAP_PROFILE } },
	{ AT_START, "heapz ", { "a heap profile as text", HEAP_PROFILE } },
	{ AT_START,
	  "heap_v2/",
	  { "a heap profile of jemalloc", "'jeprof --collapsed' writes folded text of it" } },
	{ AT_START,
	  "goroutine profile:",
	  { "a profile of goroutines as text",
	    "take it without debug=1: that is a file that culprit reads" } },
	{ AT_START,
	  "threadcreate profile:",
	  { "a profile of Go as text",
	    "take it without debug=1: that is a file that culprit reads" } },
	{ AT_START, "--- contention", { "a profile of contention as text", HEAP_PROFILE } },
	{ AT_START,
	  "Showing nodes accounting for",
	  { "the report of pprof", "give culprit the profile itself" } },
	{ BEHIND_BLANKS,
	  "flat  flat%",
	  { "the report of pprof", "give culprit the profile itself" } },
	{ AT_START, "PeriodType:", { "the report of pprof", "give culprit the profile itself" } },
	{ AT_START,
	  "-----------+---",
	  { "the report of pprof", "give culprit the profile itself" } },
	{ AT_START, "Flat profile:", { "the report of gprof", NULL } },
	{ AT_START, "Each sample counts as", { "the report of gprof", NULL } },
	{ AT_START, "ms_print arguments:", { "the report of ms_print", NULL } },
	{ AT_START, "heap_tree=", { "a file of valgrind's massif", NULL } },
	{ AT_START, "mem_heap_B=", { "a file of valgrind's massif", NULL } },
	{ AT_START,
	  "Profile data file '",
	  { "the report of callgrind_annotate", "give culprit the file that it was made of" } },
	{ AT_START,
	  "-- Cachegrind profile",
	  { "the report of cg_annotate", "give culprit the file that it was made of" } },
	{ AT_START,
	  "-- Metadata",
	  { "the report of cg_annotate", "give culprit the file that it was made of" } },
	{ AT_START, "samples  %", { "the report of opreport", NULL } },
	{ AT_START, "Counted CPU_CLK", { "the report of opreport", NULL } },
	{ AT_START,
	  "Analysis of sampling",
	  { "the report of macOS's sample", "FlameGraph's stackcollapse-sample.awk folds it" } },
	{ AT_START,
	  "Full thread dump",
	  { "a thread dump of Java", "FlameGraph's stackcollapse-jstack.pl folds it" } },
	{ AT_START,
	  "Sampling at ",
	  { "stacks of bcc's profile", "'profile -f' writes folded text" } },
	{ AT_START, "Tracing ", { "stacks of a bcc tool", "its option -f writes folded text" } },
	{ AT_START,
	  "@[",
	  { "a map of bpftrace", "FlameGraph's stackcollapse-bpftrace.pl folds it" } },
	{ AT_START,
	  "Attaching ",
	  { "the output of bpftrace", "FlameGraph's stackcollapse-bpftrace.pl folds stacks" } },
	{ AT_START, "# tracer:", { "the output of ftrace", NULL } },
	{ AT_START, "% time     seconds", { "the summary of strace", NULL } },
	{ AT_START, "execve(\"", { "the output of strace", NULL } },
	{ AT_START, "top - ", { "the output of top", NULL } },
	{ AT_START, "procs -----", { "the output of vmstat", NULL } },
	{ AT_START, "# HELP ", { "metrics of Prometheus", NULL } },
	{ AT_START, "# TYPE ", { "metrics of Prometheus", NULL } },
	{ AT_START, "nr_free_pages ", { "/proc/vmstat", NULL } },
	{ AT_START, "MemTotal:", { "/proc/meminfo", NULL } },
	{ AT_START, "processor\t:", { "/proc/cpuinfo", NULL } },
	{ AT_START, "cpu  ", { "/proc/stat", NULL } },
	{ BEHIND_BLANKS, "CPU0 ", { "/proc/interrupts", NULL } },
	{ AT_START, "usage_usec ", { "cpu.stat of a control group", NULL } },
	{ AT_START, "inactive_anon ", { "memory.stat of a control group", NULL } },
	{ AT_START, "VmPeak:", { "/proc/PID/status", NULL } },
	{ AT_START, "ELF Header:", { "the output of readelf", NULL } },
	{ AT_START, "Symbol table '", { "the output of readelf", NULL } },
	{ AT_START, "Disassembly of section", { "the output of objdump", NULL } },
	{ BEHIND_BLANKS, "PID TTY", { "the output of ps", NULL } },
	{ WITHIN, " PID %CPU", { "the output of ps", NULL } },
	{ WITHIN, "PID    PPID", { "the output of ps", NULL } },
	{ BEHIND_BLANKS,
	  "<svg",
	  { "an image (SVG)", "give culprit the folded text that it was drawn of" } },
	{ AT_START, "<?xml", { "XML", NULL } },
	{ AT_START, "<!DOCTYPE", { "HTML", NULL } },
	{ AT_START, "<html", { "HTML", NULL } },
	{ AT_START, "diff --git", { "a patch", NULL } },
	{ AT_START, "#include ", { "source code", NULL } },
	{ AT_START, "#!/", { "a script", NULL } },
};

static bool has_mark(struct span line, enum where where, const char *mark)
{
	if (where == WITHIN)
		return memmem(line.data, line.size, mark, strlen(mark)) != NULL;
	const char *text = line.data;
	while (where == BEHIND_BLANKS && line.size && (*text == ' ' || *text == '\t'))
		line = (struct span){ ++text, line.size - 1 };
	return span_starts_with(line, mark);
}

static const struct other_text *find_mark(struct span head)
{
	struct span line;
	for (size_t seen = 0; seen < LINES_SEEN && text_lines_cut(&head, &line); seen++)
		for (size_t i = 0; line.size && i < COUNT_OF(marks); i++)
			if (has_mark(line, marks[i].where, marks[i].mark))
				return &marks[i].text;
	return NULL;
}

/* ---- forms that most lines have */

struct scan {
	const char *at, *end;
};

static bool take(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static size_t take_all(struct scan *scan, const char *letters)
{
	const char *start = scan->at;
	while (scan->at < scan->end && *scan->at && strchr(letters, *scan->at))
		scan->at++;
	return (size_t)(scan->at - start);
}

static size_t take_hex(struct scan *scan)
{
	const char *start = scan->at;
	while (scan->at < scan->end && hex_digit(*scan->at) >= 0)
		scan->at++;
	return (size_t)(scan->at - start);
}

#define DIGITS "0123456789"

/* "2024-01-31", "Jan 31 ", "[   12.345678]", perhaps behind a bracket */
static bool is_log(struct scan scan)
{
	static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";
	bool bracket = take(&scan, '[') || take(&scan, '<');
	struct scan date = scan;
	if (take_all(&date, DIGITS) == 4 && (take(&date, '-') || take(&date, '/')) &&
	    take_all(&date, DIGITS) == 2 && (take(&date, '-') || take(&date, '/')) &&
	    take_all(&date, DIGITS) == 2)
		return true;
	if (scan.end - scan.at > 7 && memmem(months, sizeof(months) - 1, scan.at, 4) &&
	    strchr(" " DIGITS, scan.at[4]) && strchr(DIGITS, scan.at[5]))
		return true;
	take_all(&scan, " ");
	return bracket && take_all(&scan, DIGITS) && take(&scan, '.') &&
	       take_all(&scan, DIGITS) == 6 && take(&scan, ']');
}

/* "-rw-r--r-- 1 root root 5 ..." */
static bool is_listing(struct scan scan)
{
	return scan.at < scan.end && strchr("-dlcbps", *scan.at++) &&
	       take_all(&scan, "rwxsStT-") == 9 &&
	       (take(&scan, ' ') || take(&scan, '+') || take(&scan, '.'));
}

/* "ffffffff81000000 T _text", perhaps with a size */
static bool is_symbol_table(struct scan scan)
{
	if (take_hex(&scan) < 8 || !take(&scan, ' '))
		return false;
	struct scan sized = scan;
	if (take_hex(&sized) >= 8 && take(&sized, ' '))
		scan = sized;
	return take_all(&scan, "abcdDBRTtrVvWwuUAinN") == 1 && take(&scan, ' ');
}

/* "55d1db028000-55d1db029000 r-xp ..." */
static bool is_mappings(struct scan scan)
{
	return take_hex(&scan) && take(&scan, '-') && take_hex(&scan) && take(&scan, ' ') &&
	       take_all(&scan, "rwxps-") == 4;
}

/* "7f12a0 40 Lfoo;::bar": names of code compiled at run time */
static bool is_perf_map(struct scan scan)
{
	struct scan first = scan;
	if (!take_hex(&scan) || !take(&scan, ' ') || !take_hex(&scan) || !take(&scan, ' '))
		return false;
	/* among them some that are no decimal numbers */
	size_t decimal = take_all(&first, DIGITS);
	return scan.at < scan.end && (decimal == 0 || *first.at != ' ');
}

/* "read(3, "", 512) = 0", perhaps behind a PID and a time */
static bool is_call_trace(struct scan scan)
{
	take_all(&scan, "[pid] :." DIGITS);
	if (!take_all(&scan, "abcdefghijklmnopqrstuvwxyz_" DIGITS) || !take(&scan, '('))
		return false;
	return memmem(scan.at, (size_t)(scan.end - scan.at), ") = ", 4) ||
	       memmem(scan.at, (size_t)(scan.end - scan.at), ")  ", 3);
}

/* "              dd  4097 ", "              dd ", " 1471.928157: ": what perf script prints without
 * addresses; it ends such lines in a blank. */
static bool is_bare_columns(struct scan scan)
{
	const ptrdiff_t command = 16;
	if (scan.end - scan.at < 2 || scan.end[-1] != ' ')
		return false;
	struct scan time = scan;
	take_all(&time, " ");
	if (take_all(&time, DIGITS) && take(&time, '.') && take_all(&time, DIGITS) >= 6 &&
	    take(&time, ':'))
		return scan.end - time.at == 1;
	if (scan.end - scan.at <= command || scan.at[command - 1] == ' ' || scan.at[command] != ' ')
		return false;
	scan.at += command;
	take_all(&scan, " /[]" DIGITS);
	/* perhaps an event: "task-clock: " */
	const char *blank = memchr(scan.at, ' ', (size_t)(scan.end - scan.at));
	return scan.at == scan.end || (blank == scan.end - 1 && blank[-1] == ':');
}

/* "    12.34%  comm  dso  [.] symbol" */
static bool is_percentages(struct scan scan)
{
	take_all(&scan, " \t|-");
	return take_all(&scan, DIGITS ".") && take(&scan, '%');
}

/* "main:12345:10" and " 3: 67": AutoFDO's text, of which one line in a few is the former */
static bool is_sample_counts(struct scan scan)
{
	if (take_all(&scan, " "))
		return take_all(&scan, DIGITS) &&
		       (take(&scan, ':') ||
			(take(&scan, '.') && take_all(&scan, DIGITS) && take(&scan, ':')));
	const char *colon = memrchr(scan.at, ':', (size_t)(scan.end - scan.at));
	scan.at = colon ? colon + 1 : scan.end;
	return take_all(&scan, DIGITS) && scan.at == scan.end;
}

/* "1 main 3e 1 printf 0 5 12": BOLT's fdata */
static bool is_branch_counts(struct scan scan)
{
	for (int side = 0; side < 2; side++) {
		if (!take_all(&scan, DIGITS) || !take(&scan, ' '))
			return false;
		while (scan.at < scan.end && *scan.at != ' ')
			scan.at++;
		if (!take(&scan, ' ') || !take_hex(&scan) || !take(&scan, ' '))
			return false;
	}
	return take_all(&scan, DIGITS) && take(&scan, ' ') && take_all(&scan, DIGITS) &&
	       scan.at == scan.end;
}

/* "              libc.so.1`read+0x7": frames of dtrace's stack() */
static bool is_dtrace_frame(struct scan scan)
{
	return take_all(&scan, " ") >= 10 && (memchr(scan.at, '`', (size_t)(scan.end - scan.at)) ||
					      (take_all(&scan, DIGITS) && scan.at == scan.end));
}

/* "     12 main": of uniq -c, wc, du */
static bool is_counts_first(struct scan scan)
{
	take_all(&scan, " ");
	return take_all(&scan, DIGITS) && take_all(&scan, " \t") && scan.at < scan.end &&
	       !strchr(DIGITS, *scan.at);
}

/* "==1234== HEAP SUMMARY:" */
static bool is_valgrind(struct scan scan)
{
	return take(&scan, '=') && take(&scan, '=') && take_all(&scan, DIGITS) &&
	       take(&scan, '=') && take(&scan, '=');
}

static bool is_numbers(struct scan scan)
{
	size_t digits = 0;
	while (scan.at < scan.end) {
		digits += *scan.at >= '0' && *scan.at <= '9';
		if (!strchr(DIGITS "+-.,;:|eExX% \t", *scan.at++))
			return false;
	}
	return digits > 0;
}

/* Cells between commas: four or more in each line. */
static bool is_comma_table(struct scan scan)
{
	size_t commas = 0;
	for (; scan.at < scan.end; scan.at++) {
		if (*scan.at == '(' || *scan.at == '<')
			return false;
		commas += *scan.at == ',';
	}
	return commas >= 3;
}

static const struct {
	bool (*is)(struct scan line);
	struct other_text text;
} forms[] = {
	{ is_listing, { "a list of files", NULL } },
	{ is_bare_columns,
	  { "what 'perf script' prints without addresses",
	    "ask it for -F comm,tid,time,event,ip,sym,dso" } },
	{ is_log, { "a log: its lines begin with a date or a time", NULL } },
	{ is_symbol_table, { "a table of symbols", NULL } },
	{ is_mappings, { "/proc/PID/maps", NULL } },
	{ is_call_trace, { "the output of strace", NULL } },
	{ is_percentages,
	  { "a report in percent", "give culprit the recording that it was made of" } },
	{ is_branch_counts, { "a profile for BOLT", NULL } },
	{ is_dtrace_frame, { "stacks of dtrace", "FlameGraph's stackcollapse.pl folds them" } },
	{ is_numbers, { "a table of numbers", NULL } },
	{ is_sample_counts, { "a profile for AutoFDO", NULL } },
	{ is_perf_map, { "a perf-PID.map", "it is read where it lies beside its recording" } },
	{ is_valgrind, { "messages of valgrind", NULL } },
	{ is_counts_first,
	  { "a table whose lines begin with a number",
	    "in folded text the count is the last word of a line" } },
	{ is_comma_table, { "a table of cells between commas", NULL } },
};

/* Most lines, of those that are not blank and no comments. */
static const struct other_text *find_form(struct span head)
{
	size_t lines = 0, counts[COUNT_OF(forms)] = { 0 };
	struct span line;
	while (lines < LINES_SEEN && text_lines_cut(&head, &line)) {
		struct scan scan = { line.data, (const char *)line.data + line.size };
		take_all(&scan, " \t");
		if (scan.at == scan.end || *scan.at == '#')
			continue;
		scan.at = line.data;
		lines++;
		for (size_t i = 0; i < COUNT_OF(forms); i++)
			counts[i] += forms[i].is(scan);
	}
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		if (lines && counts[i] * 4 >= lines * 3)
			return &forms[i].text;
	return NULL;
}

/* ---- JSON */

static const struct {
	const char *key;
	struct other_text text;
} documents[] = {
	{ "\"traceEvents\"", { "a trace of Chrome", NULL } },
	{ "\"timeDeltas\"",
	  { "a CPU profile of V8",
	    "speedscope.app opens it and exports a file that culprit reads" } },
	{ "\"stackTable\"", { "a profile of Firefox's profiler", NULL } },
	{ "\"stackFrames\"", { "a trace of Chrome", NULL } },
};
static const struct other_text json = { "JSON of no kind that culprit reads", NULL };

static const struct other_text *find_document(struct span head)
{
	const char *text = head.data;
	size_t at = 0;
	while (at < head.size && text[at] && strchr(" \t\r\n", text[at]))
		at++;
	if (at == head.size || (text[at] != '{' && text[at] != '['))
		return NULL;
	bool object = text[at++] == '{';
	while (at < head.size && text[at] && strchr(" \t\r\n", text[at]))
		at++;
	if (at == head.size || !strchr(object ? "\"}" : "\"{[]", text[at]))
		return NULL; /* "[unknown] 5" */
	for (size_t i = 0; i < COUNT_OF(documents); i++)
		if (memmem(text, head.size, documents[i].key, strlen(documents[i].key)))
			return &documents[i].text;
	return &json;
}

const struct other_text *other_text_find(struct span head)
{
	size_t mark = utf8_mark_size(head.data, head.size);
	head = (struct span){ (const char *)head.data + mark, head.size - mark };
	const struct other_text *found = find_mark(head);
	if (!found)
		found = find_document(head);
	return found ? found : find_form(head);
}

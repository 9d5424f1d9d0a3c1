#include "pipelines/pipeline.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline_tables.h"

static struct pipelines *pipelines;

static int read_tables(void **state)
{
	struct error err;
	(void)state;
	if (pipelines_new(&pipelines, &err) == 0)
		return 0;
	print_error("%s\n", err.text);
	return -1;
}

static int free_tables(void **state)
{
	(void)state;
	pipelines_free(pipelines);
	return 0;
}

static void every_table_is_whole_and_sensible(void **state)
{
	(void)state;
	assert_true(pipelines_count(pipelines) >= 11);
	for (size_t i = 0; i < pipelines_count(pipelines); i++) {
		const struct pipeline *p = pipelines_at(pipelines, i);
		print_message("%s\n", p->name);
		assert_ptr_equal(pipelines_by_name(pipelines, p->name), p);
		assert_in_range(p->issue_width, 1, PIPELINE_MAX_WIDTH);
		assert_true(p->unit_count > 0);
		for (unsigned row = 0; row < PIPELINE_ROWS; row++) {
			const struct pipeline_work *work = &p->work[row];
			assert_true(work->busy_cycles >= 1);
			assert_true(work->units < 1u << p->unit_count);
			/* a pipe is free again at the latest when its result is there */
			if (work->units)
				assert_true(work->busy_cycles <=
					    work->latency_cycles[PIPELINE_OPERAND]);
		}
		assert_true(p->l1d.size_bytes % (p->l1d.ways * p->l1d.line_bytes) == 0);
		assert_true(p->l1i.size_bytes % (p->l1i.ways * p->l1i.line_bytes) == 0);
		assert_true(p->l2.size_bytes % (p->l2.ways * p->l2.line_bytes) == 0);
		assert_true(p->l1d.size_bytes < p->l2.size_bytes);
		assert_true(p->work[LATENCY_LOAD].units != 0);
		assert_true(p->work[LATENCY_STORE].units != 0);
		assert_true(p->work[LATENCY_DIVIDE].latency_cycles[0] >=
			    p->work[PIPELINE_DIVIDE_32].latency_cycles[0]);
	}
	assert_null(pipelines_by_name(pipelines, "pentium"));
}

static void no_processor_is_in_two_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < pipelines_count(pipelines); i++)
		for (size_t j = 0; j < i; j++) {
			const struct pipeline *a = pipelines_at(pipelines, i);
			const struct pipeline *b = pipelines_at(pipelines, j);
			for (size_t x = 0; x < a->match_count; x++)
				for (size_t y = 0; y < b->match_count; y++) {
					const struct pipeline_match *m = &a->matches[x];
					const struct pipeline_match *n = &b->matches[y];
					assert_false(m->arm == n->arm &&
						     strcmp(m->vendor, n->vendor) == 0 &&
						     m->family == n->family &&
						     m->first_model <= n->last_model &&
						     n->first_model <= m->last_model);
				}
		}
}

/* The number whose decimal digits are `number`'s in hexadecimal; 0 when those have letters. */
static uint32_t decimal_twin(uint32_t number)
{
	char text[16];
	snprintf(text, sizeof(text), "%x", number);
	return strspn(text, "0123456789") == strlen(text) ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* What pipelines_for() promises of models without a letter or a leading 0. */
static void hexadecimal_models_are_no_decimal_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < pipelines_count(pipelines); i++) {
		const struct pipeline *p = pipelines_at(pipelines, i);
		for (size_t x = 0; x < p->match_count; x++) {
			const struct pipeline_match *m = &p->matches[x];
			if (m->arm || !decimal_twin(m->family))
				continue;
			for (uint32_t model = m->first_model; model <= m->last_model; model++) {
				char text[32];
				snprintf(text, sizeof(text), "%x-%x-1", m->family, model);
				struct pipeline_choice choice = pipelines_for(
					pipelines, span_of_text(m->vendor), span_of_text(text));
				assert_string_equal(choice.pipeline->name, p->name);
			}
		}
	}
}

static void expect(const char *vendor, const char *model, const char *name, enum pipeline_fit fit,
		   const char *note)
{
	struct pipeline_choice choice =
		pipelines_for(pipelines, span_of_text(vendor), span_of_text(model));
	assert_string_equal(choice.pipeline->name, name);
	assert_int_equal(choice.fit, fit);
	assert_string_equal(choice.note, note);
}

static void processors_find_their_tables(void **state)
{
	(void)state;
	expect("AuthenticAMD", "1a-02-01", "zen5", PIPELINE_FITS, "");
	expect("AuthenticAMD", "19-11-01", "zen4", PIPELINE_FITS, "");
	expect("AuthenticAMD", "19-11-1", "zen4", PIPELINE_FITS, "");
	expect("AuthenticAMD", "19-21-00", "zen3", PIPELINE_FITS, "");
	expect("GenuineIntel", "06-55-04", "skylake", PIPELINE_FITS, "");
	expect("GenuineIntel", "6-55-4", "skylake", PIPELINE_FITS, "");
	/* Knights Mill; Skylake-SP is 85 in decimal */
	expect("GenuineIntel", "06-85-00", "generic-out-of-order", PIPELINE_GUESSED,
	       "no machine table describes the processor (06-85-00); 'generic-out-of-order' stands "
	       "in");
	expect("GenuineIntel", "06-8f-08", "golden-cove", PIPELINE_FITS, "");
	expect("GenuineIntel", "6-8f-8", "golden-cove", PIPELINE_FITS, "");
	expect("GenuineIntel", "06-6a-06", "sunny-cove", PIPELINE_FITS, "");
	expect("GenuineIntel", "06-8c-01", "sunny-cove", PIPELINE_FITS, "");
	/* Cannon Lake */
	expect("GenuineIntel", "06-66-03", "generic-out-of-order", PIPELINE_GUESSED,
	       "no machine table describes the processor (06-66-03); 'generic-out-of-order' stands "
	       "in");
	expect("Arm", "MIDR 0x410fd034", "cortex-a53", PIPELINE_FITS, "");
	expect("Arm", "MIDR 0x412fd050", "cortex-a55", PIPELINE_FITS, "");
	expect("Arm", "MIDR 0x410fd4f0", "neoverse-v2", PIPELINE_FITS, "");
	expect("Arm", "MIDR 0x413fd0c1, MIDR 0x413fd0c1", "neoverse-n1", PIPELINE_FITS, "");
}

static void others_get_a_generic_table_and_a_note(void **state)
{
	(void)state;
	expect("Arm", "MIDR 0x410fd460", "generic-in-order", PIPELINE_KIND_KNOWN,
	       "no machine table describes the processor (MIDR 0x410fd460); 'generic-in-order' "
	       "stands "
	       "in, which is right about the order of issue alone");
	expect("Arm", "MIDR 0x410fd070", "generic-out-of-order", PIPELINE_GUESSED,
	       "no machine table describes the processor (MIDR 0x410fd070); 'generic-out-of-order' "
	       "stands in");
	expect("GenuineIntel", "06-1a-05", "generic-out-of-order", PIPELINE_GUESSED,
	       "no machine table describes the processor (06-1a-05); 'generic-out-of-order' stands "
	       "in");
	expect("AuthenticAMD", "06-55-04", "generic-out-of-order", PIPELINE_GUESSED,
	       "no machine table describes the processor (06-55-04); 'generic-out-of-order' stands "
	       "in");
	expect("", "", "generic-out-of-order", PIPELINE_GUESSED,
	       "the processor is not known; 'generic-out-of-order' stands in");
	static const char *const odd[] = { "-",
					   "--",
					   "6",
					   "6-",
					   "-6-1",
					   "MIDR ",
					   "0x",
					   ", ",
					   ", 6-85-4",
					   "6-85x-4",
					   "99999999999999999999-1-1",
					   "MIDR 0x1ffffffff" };
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct pipeline_choice choice = pipelines_for(
			pipelines, span_of_text("GenuineIntel"), span_of_text(odd[i]));
		assert_string_equal(choice.pipeline->name, "generic-out-of-order");
		assert_int_equal(choice.fit, PIPELINE_GUESSED);
	}
}

static void mixed_core_types_are_said(void **state)
{
	(void)state;
	struct pipeline_choice choice = pipelines_for(
		pipelines, span_of_text("Arm"), span_of_text("MIDR 0x410fd034, MIDR 0x410fd092"));
	assert_string_equal(choice.pipeline->name, "cortex-a53");
	assert_true(choice.mixed);
	assert_string_equal(choice.note,
			    "the processor (MIDR 0x410fd034, MIDR 0x410fd092) has core types that "
			    "differ; 'cortex-a53' describes the first alone");
}

static void widths_choose_the_row(void **state)
{
	(void)state;
	const struct pipeline *p = pipelines_by_name(pipelines, "skylake");
	assert_ptr_equal(pipeline_work_of(p, LATENCY_DIVIDE, 8), &p->work[PIPELINE_DIVIDE_16]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_DIVIDE, 16), &p->work[PIPELINE_DIVIDE_16]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_DIVIDE, 32), &p->work[PIPELINE_DIVIDE_32]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_DIVIDE, 64), &p->work[LATENCY_DIVIDE]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_DIVIDE, 0), &p->work[LATENCY_DIVIDE]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_FP_DIVIDE, 16),
			 &p->work[PIPELINE_FP_DIVIDE_32]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_FP_DIVIDE, 80), &p->work[LATENCY_FP_DIVIDE]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_FP_ROOT, 32), &p->work[PIPELINE_FP_ROOT_32]);
	assert_ptr_equal(pipeline_work_of(p, LATENCY_ALU, 32), &p->work[LATENCY_ALU]);
}

/* The simulated machine's figures; its accuracy tests rest on them. */
static void the_generic_in_order_table_is_the_simulated_machine(void **state)
{
	(void)state;
	const struct pipeline *p = pipelines_by_name(pipelines, "generic-in-order");
	assert_true(p->in_order && p->generic);
	assert_int_equal(p->issue_width, 2);
	assert_int_equal(p->work[LATENCY_ALU].latency_cycles[0], 1);
	assert_int_equal(p->work[LATENCY_MULTIPLY].latency_cycles[0], 3);
	assert_int_equal(p->work[LATENCY_DIVIDE].latency_cycles[0], 20);
	assert_int_equal(p->work[LATENCY_FP_ROOT].latency_cycles[0], 18);
	assert_int_equal(p->work[LATENCY_FP_ADD].latency_cycles[0], 4);
	assert_int_equal(p->work[LATENCY_LOAD].latency_cycles[0], 4);
	assert_int_equal(p->load_operand_cycles, 3);
	assert_int_equal(p->work[LATENCY_LOAD].units, p->work[LATENCY_STORE].units);
	assert_int_equal(__builtin_popcount(p->work[LATENCY_LOAD].units), 1);
	assert_true(p->work[LATENCY_BRANCH].ends_group);
	assert_int_equal(p->l1d_miss_cycles, 12);
	assert_int_equal(p->l2_miss_cycles, 120);
	assert_int_equal(p->store_miss_cycles, 30);
	assert_int_equal(p->l1i_miss_cycles, 12);
	assert_int_equal(p->fetch_miss_cycles, 100);
	assert_int_equal(p->mispredict_cycles, 8);
	assert_int_equal(p->llc.size_bytes, PIPELINE_UNKNOWN);
}

/* The table of `text` with the line of `key` replaced (or dropped, for NULL), and its number. */
static char *changed(const char *text, const char *key, const char *line, size_t *number)
{
	const char *at = text;
	*number = 1;
	for (; strncmp(at, key, strlen(key)) != 0 || at[strlen(key)] != ' '; ++*number)
		at = strchr(at, '\n') + 1;
	const char *after = strchr(at, '\n') + 1;
	char *copy = NULL;
	int size = asprintf(&copy, "%.*s%s%s%s", (int)(at - text), text, line ? line : "",
			    line ? "\n" : "", after);
	assert_true(size > 0);
	return copy;
}

static void expect_wrong(const char *key, const char *line, const char *says)
{
	size_t number;
	CLEANUP(free_pointer) char *text = changed(table_zen3, key, line, &number);
	struct pipeline pipeline;
	struct error err = { .code = 0 };
	char message[256];
	if (line)
		snprintf(message, sizeof(message), "table 't': line %zu: %s", number, says);
	else
		snprintf(message, sizeof(message), "table 't': %s", says);
	assert_int_equal(pipeline_parse(span_of_text(text), "t", &pipeline, &err), -EBADMSG);
	assert_string_equal(err.text, message);
}

static void wrong_tables_are_refused(void **state)
{
	(void)state;
	expect_wrong("latency.alu", "latency.alu 1 cycles", "no source in 'latency.alu 1 cycles'");
	expect_wrong("latency.alu", "latency.alu 1 cycles # ",
		     "no source in 'latency.alu 1 cycles # '");
	expect_wrong("latency.alu", "latency.alu 1",
		     "not 'key value unit # source': 'latency.alu 1'");
	expect_wrong("latency.alu", "latency.alu 1 bytes # a", "wrong unit 'bytes'");
	expect_wrong("latency.alu", "latency.alu -1 cycles # a", "no number of cycles '-1'");
	expect_wrong("latency.alu", "latency.alu 10001 cycles # a", "no number of cycles '10001'");
	expect_wrong("latency.alu", "latency.allu 1 cycles # a", "unknown class 'allu'");
	expect_wrong("latency.alu", "latency.alu.flags 1 cycles # a", "unknown use 'alu.flags'");
	expect_wrong("latency.alu", "latency.move 1 cycles # a", "given twice 'move'");
	expect_wrong("latency.alu", NULL, "'latency.alu' is missing");
	expect_wrong("busy.divide-64", "busy.divide-64 0 cycles # a", "no number of cycles '0'");
	expect_wrong("unit.memory1", "unit.memory1 stroe classes # a", "unknown class 'stroe'");
	expect_wrong("unit.memory1", "unit.memory0 store classes # a", "given twice 'memory0'");
	expect_wrong("unit.system", NULL, "'a unit for barrier' is missing");
	expect_wrong("no-unit", "no-unit unknown,nop,alu classes # a", "given twice 'alu'");
	expect_wrong("latency.alu", "unit.more nop classes # a", "given twice 'nop'");
	expect_wrong("dtlb", NULL, "'dtlb' is missing");
	expect_wrong("dtlb", "dtlb many entries # a", "no such number 'many'");
	expect_wrong("dtlb", "itlb 3 entries # a", "given twice 'itlb'");
	expect_wrong("mispredict", "mispredict unknown cycles # a", "no such number 'unknown'");
	expect_wrong("mispredict", "mispredicts 3 cycles # a", "unknown key 'mispredicts'");
	expect_wrong("width.issue", "width.issue 17 instructions # a", "no such number '17'");
	expect_wrong("order", "order both choice # a", "unknown value 'both'");
	expect_wrong("order", NULL, "'order' is missing");
	expect_wrong("match.x86", "match.x86 AMD/19 processor # a", "no processor 'AMD/19'");
	expect_wrong("match.x86", "match.x86 AMD/0x19/0x5-0x4 processor # a",
		     "no processor 'AMD/0x19/0x5-0x4'");
}

static void a_cut_table_never_passes(void **state)
{
	(void)state;
	size_t size = strlen(table_cortex_a53);
	for (size_t cut = 0; cut < size; cut++) {
		CLEANUP(free_pointer) char *text = malloc(cut + 1);
		struct pipeline pipeline;
		struct error err;
		memcpy(text, table_cortex_a53, cut);
		/* the last line's source may be cut */
		if (strchr(table_cortex_a53 + cut, '#') || !strchr("\n", table_cortex_a53[cut]))
			if (pipeline_parse((struct span){ text, cut }, "t", &pipeline, &err) == 0)
				assert_true(!strchr(table_cortex_a53 + cut, '#'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_is_whole_and_sensible),
		cmocka_unit_test(no_processor_is_in_two_tables),
		cmocka_unit_test(hexadecimal_models_are_no_decimal_ones),
		cmocka_unit_test(processors_find_their_tables),
		cmocka_unit_test(others_get_a_generic_table_and_a_note),
		cmocka_unit_test(mixed_core_types_are_said),
		cmocka_unit_test(widths_choose_the_row),
		cmocka_unit_test(the_generic_in_order_table_is_the_simulated_machine),
		cmocka_unit_test(wrong_tables_are_refused),
		cmocka_unit_test(a_cut_table_never_passes),
	};
	return cmocka_run_group_tests(tests, read_tables, free_tables);
}

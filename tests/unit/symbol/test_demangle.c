#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbol/cold_parts.h"
#include "symbol/demangle.h"

static int start(void **state)
{
	static struct demangler demangler;
	demangler_init(&demangler);
	demangler.deadline_ms = 60000; /* for machines that do something else meanwhile */
	*state = &demangler;
	return 0;
}

static int stop(void **state)
{
	demangler_release(*state);
	return 0;
}

static void assert_shown(void **state, const char *linkage, const char *expected)
{
	CLEANUP(free_pointer) char *shown = NULL;
	demangle(*state, &(struct span){ linkage, strlen(linkage) }, 1, &shown);
	if (!expected) {
		assert_null(shown);
		return;
	}
	assert_non_null(shown);
	assert_string_equal(shown, expected);
}

static void cpp_and_rust_names_are_shown_as_written(void **state)
{
	assert_shown(state, "_ZN2ns1hEd", "ns::h(double)");
	assert_shown(state, "_ZNK2ns1A1fEi.cold", "ns::A::f(int) const [clone .cold]");
	assert_shown(state, "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	assert_shown(state, "_RNvCs1234_7mycrate3foo", "mycrate::foo");
	assert_null(demangler_trouble(*state));
}

static void marks_around_a_mangled_name_stay(void **state)
{
	assert_shown(state, "__dl__ZN2ns1hEd", "__dl_ns::h(double)");
	assert_shown(state, "__wrap__Znwm", "__wrap_operator new(unsigned long)");
	assert_shown(state, "__real__Znwm", "__real_operator new(unsigned long)");
	assert_shown(state, "__imp__ZN2ns1hEd", "__imp_ns::h(double)");
	assert_shown(state, ".text._ZN2ns1hEd", ".text.ns::h(double)");
	assert_shown(state, "__ZN2ns1hEd", "ns::h(double)");
	assert_shown(state, "__dl__ZN2ns1hEd.llvm.123", "__dl_ns::h(double) [clone .llvm.123]");
	assert_shown(state, "_Znwm@plt", "operator new(unsigned long)@plt");
	assert_shown(state, "_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)@@GLIBCXX_3.4");
	assert_shown(state, "__dl__ZZ4mainENKUlvE_clEv",
		     "__dl_main::{lambda()#1}::operator()() const");
	assert_shown(state, "__dl_main", NULL);
	assert_shown(state, "__dl_", NULL);
	assert_shown(state, "main@plt", NULL);
	assert_null(demangler_trouble(*state));
}

static void packs_conversions_closures_and_binders_are_shown(void **state)
{
	assert_shown(state, "_Z1fIJidEEvDpT_", "void f<int, double>(int, double)");
	assert_shown(state, "_ZN1AcvT_IiEEv", "A::operator int<int>()");
	assert_shown(state, "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
	assert_shown(state, "_RNvYFG_RL0_hEuNtC1a1b1c", "<for<'a> fn(&'a u8) as a::b>::c");
	assert_shown(state, "_RNvC1au9bcher_kva", "a::bücher");
	assert_null(demangler_trouble(*state));
}

static void long_names_are_shown_too(void **state)
{
	char name[4096] = "_Z1f";
	char expected[16384] = "f(";
	for (int i = 0; i < 300; i++) {
		snprintf(name + strlen(name), 16, "7type%03d", i);
		snprintf(expected + strlen(expected), 16, "%stype%03d", i ? ", " : "", i);
	}
	strcat(expected, ")");
	assert_shown(state, name, expected);
}

static void other_names_are_left_alone(void **state)
{
	assert_shown(state, "main", NULL);
	assert_shown(state, "", NULL);
	assert_shown(state, "_", NULL);
	assert_shown(state, "_Z", NULL);
	assert_shown(state, "_ZZZZ", NULL);
	assert_shown(state, "__libc_start_main", NULL);
	assert_null(demangler_trouble(*state));
}

/* Each pair is made of the one before: doubles with every 5 characters. */
static void a_name_made_to_explode_is_given_up(void **state)
{
	char name[1024] = "_Z1fSt4pairIiiE";
	char *end = name + strlen(name);
	for (int i = 0; i < 60; i++)
		end += snprintf(end, sizeof(name) - (size_t)(end - name), "St4pairIS%c_S%c_E",
				i < 10 ? '0' + i : 'A' + i % 26, i < 10 ? '0' + i : 'A' + i % 26);
	CLEANUP(free_pointer) char *shown = NULL;
	demangle(*state, &(struct span){ name, strlen(name) }, 1, &shown);
	if (shown)
		assert_true(strlen(shown) <= 32768);
	char *huge = malloc(100000);
	assert_non_null(huge);
	memset(huge, 'P', 100000);
	memcpy(huge, "_Z1f", 4);
	char *none = huge;
	demangle(*state, &(struct span){ huge, 100000 }, 1, &none);
	assert_null(none);
	free(huge);
}

/* Its binder has 62^10 lifetimes, which are counted in silence. */
static const char endless[] = "_RNvMNvYFGzzzzzzzzzz_EuNtC1a1b1c1d1e";

static void set_the_usual_deadline(void **state)
{
	struct demangler *demangler = *state;
	demangler->deadline_ms = DEMANGLE_DEADLINE_MS;
}

static void a_name_without_end_is_given_up_at_the_deadline(void **state)
{
	set_the_usual_deadline(state);
	assert_shown(state, endless, NULL);
	assert_string_equal(demangler_trouble(*state),
			    "could not be read: no answer within 500 ms");
	assert_shown(state, "_Z1fIJidEEvDpT_", "void f<int, double>(int, double)");
}

static void a_name_without_end_costs_no_other_of_its_request(void **state)
{
	static const char *const linkages[] = { "_ZN2ns1hEd", endless, "main", "_Z1fIJidEEvDpT_" };
	struct span names[4];
	char *shown[4];
	set_the_usual_deadline(state);
	for (size_t i = 0; i < 4; i++)
		names[i] = span_of_text(linkages[i]);
	demangle(*state, names, 4, shown);
	assert_string_equal(shown[0], "ns::h(double)");
	assert_null(shown[1]);
	assert_null(shown[2]);
	assert_string_equal(shown[3], "void f<int, double>(int, double)");
	assert_string_equal(demangler_trouble(*state),
			    "could not be read: no answer within 500 ms");
	free(shown[0]);
	free(shown[3]);
}

static void after_a_few_such_names_none_is_demangled(void **state)
{
	set_the_usual_deadline(state);
	for (int i = 0; i < 8; i++)
		assert_shown(state, endless, NULL);
	assert_shown(state, "_ZN2ns1hEd", NULL);
	assert_string_equal(demangler_trouble(*state),
			    "could not be read: those before it took too long");
}

#define MANY (3 * DEMANGLE_BATCH + 5)

/* Every third is not mangled: what comes back stands where it was asked for. */
static void any_number_of_names_may_be_asked_for(void **state)
{
	static char linkages[MANY][32];
	static char *shown[MANY];
	static struct span names[MANY];
	for (size_t i = 0; i < MANY; i++) {
		snprintf(linkages[i], sizeof(linkages[i]), i % 3 ? "_Z5f%04zui" : "f%04zu", i);
		names[i] = span_of_text(linkages[i]);
		assert_int_equal(demangle_concerns(names[i]), i % 3 != 0);
	}
	demangle(*state, names, MANY, shown);
	for (size_t i = 0; i < MANY; i++) {
		char expected[32];
		snprintf(expected, sizeof(expected), "f%04zu(int)", i);
		if (i % 3)
			assert_string_equal(shown[i], expected);
		else
			assert_null(shown[i]);
		free(shown[i]);
	}
	assert_null(demangler_trouble(*state));
}

/* One text, however many names it was sent. */
static int answer_one(void *context, const struct message *request, struct message *answer,
		      struct error *err)
{
	(void)context;
	(void)request;
	(void)err;
	buffer_append_text(&answer->payload, "f()");
	buffer_append_u8(&answer->payload, 0);
	return 0;
}

static void serve_one(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test", .serve = answer_one }, socket);
}

static void an_answer_for_other_names_is_not_believed(void **state)
{
	struct demangler *demangler = *state;
	const struct span names[] = { span_of_text("_Z1fv"), span_of_text("_Z1gv") };
	char *shown[2];
	demangler->helper.run = serve_one;
	demangle(demangler, names, 2, shown);
	assert_null(demangler_trouble(demangler)); /* each by itself is answered */
	assert_string_equal(shown[0], "f()");
	assert_string_equal(shown[1], "f()");
	free(shown[0]);
	free(shown[1]);
}

/* A text that does not end. */
static int answer_half(void *context, const struct message *request, struct message *answer,
		       struct error *err)
{
	(void)context;
	(void)request;
	(void)err;
	buffer_append_text(&answer->payload, "f()");
	return 0;
}

static void serve_half(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test", .serve = answer_half }, socket);
}

static void an_answer_that_ends_within_a_name_is_no_answer(void **state)
{
	struct demangler *demangler = *state;
	demangler->helper.run = serve_half;
	assert_shown(state, "_Z1fv", NULL);
	assert_string_equal(demangler_trouble(demangler),
			    "could not be read: the helper's answer makes no sense");
}

/* In time, but slower than any real name. */
static int answer_late(void *context, const struct message *request, struct message *answer,
		       struct error *err)
{
	/* It has no right to sleep. */
	uint64_t begin_ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - begin_ns < 50000000)
		;
	return answer_one(context, request, answer, err);
}

static void serve_late(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test", .serve = answer_late }, socket);
}

static void names_that_are_answered_late_end_it_too(void **state)
{
	struct demangler *demangler = *state;
	demangler->helper.run = serve_late;
	assert_shown(state, "_Z1fv", "f()");
	assert_true(demangler->slow_ns > 40000000 && demangler->slow_ns < UINT64_C(20000000000));
	assert_null(demangler_trouble(demangler));
	demangler->slow_ns = UINT64_C(19990000000); /* as after some 400 of them */
	assert_shown(state, "_Z1gv", "f()");
	assert_shown(state, "_Z1hv", NULL);
	assert_string_equal(demangler_trouble(demangler),
			    "could not be read: those before it took too long");
}

/* As long as a text may be, for each name. */
static int answer_longest(void *context, const struct message *request, struct message *answer,
			  struct error *err)
{
	(void)context;
	(void)err;
	for (size_t i = 0; i < request->payload.size; i++)
		if (request->payload.data[i] == 0) {
			uint8_t *text = buffer_extend(&answer->payload, 32768);
			if (text)
				memset(text, 'f', 32768);
			buffer_append_u8(&answer->payload, 0);
		}
	return 0;
}

static void serve_longest(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test", .serve = answer_longest }, socket);
}

static void what_names_become_in_memory_is_limited(void **state)
{
	struct demangler *demangler = *state;
	static struct span names[3 * DEMANGLE_BATCH];
	static char *shown[3 * DEMANGLE_BATCH];
	size_t kept = 0;
	for (size_t i = 0; i < 3 * DEMANGLE_BATCH; i++)
		names[i] = span_of_text("_Z1fv");
	demangler->helper.run = serve_longest;
	demangle(demangler, names, 3 * DEMANGLE_BATCH, shown);
	for (size_t i = 0; i < 3 * DEMANGLE_BATCH; i++) {
		kept += shown[i] ? strlen(shown[i]) : 0;
		free(shown[i]);
	}
	assert_in_range(kept, 16 << 20, (16 << 20) + 3 * DEMANGLE_BATCH * 16 * strlen("_Z1fv"));
	assert_string_equal(demangler_trouble(demangler),
			    "could not be read: those before it are too long");
}

/* Another text than was asked for behind each. */
static int answer_two(void *context, const struct message *request, struct message *answer,
		      struct error *err)
{
	answer_one(context, request, answer, err);
	return answer_one(context, request, answer, err);
}

static void serve_two(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test", .serve = answer_two }, socket);
}

static void of_an_answer_with_too_many_names_none_is_shown(void **state)
{
	struct demangler *demangler = *state;
	const struct span names[] = { span_of_text("_Z1fv"), span_of_text("_Z1gv"),
				      span_of_text("_Z1hv") };
	char *shown[3];
	demangler->helper.run = serve_two;
	demangle(demangler, names, 3, shown);
	for (size_t i = 0; i < 3; i++)
		assert_null(shown[i]);
	assert_string_equal(demangler_trouble(demangler),
			    "could not be read: the helper's answer makes no sense");
}

/* A text of more than the demangler ever gives. */
static int answer_long(void *context, const struct message *request, struct message *answer,
		       struct error *err)
{
	(void)context;
	(void)request;
	(void)err;
	for (size_t i = 0; i < 40000; i++)
		buffer_append_u8(&answer->payload, 'f');
	buffer_append_u8(&answer->payload, 0);
	return 0;
}

static void serve_long(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test", .serve = answer_long }, socket);
}

static void a_text_longer_than_any_name_is_no_answer(void **state)
{
	struct demangler *demangler = *state;
	demangler->helper.run = serve_long;
	assert_shown(state, "_Z1fv", NULL);
	assert_string_equal(demangler_trouble(demangler),
			    "could not be read: the helper's answer makes no sense");
}

/* No descriptors are left for its socket. */
static void without_a_helper_names_are_left_alone_at_once(void **state)
{
	struct demangler *demangler = *state;
	struct span names[DEMANGLE_BATCH];
	char *shown[DEMANGLE_BATCH];
	for (size_t i = 0; i < DEMANGLE_BATCH; i++)
		names[i] = span_of_text("_Z1fv");
	struct rlimit before;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	const struct rlimit none = { 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	demangle(demangler, names, DEMANGLE_BATCH, shown);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < DEMANGLE_BATCH; i++)
		assert_null(shown[i]);
	assert_int_equal(demangler->broken, DEMANGLE_BATCH);
	assert_true(demangler->helper.unstarted);
	assert_string_equal(demangler_trouble(demangler),
			    "could not be read: cannot start a helper "
			    "process: Too many open files");
	assert_shown(state, "_Z1fv", "f()"); /* later there may be some */
}

static void cold_parts_know_the_name_of_the_whole(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "f.cold", "f" },
		{ "f.cold.12", "f" },
		{ "f.part.0.cold", "f.part.0" },
		{ "f.isra.0.cold.1", "f.isra.0" },
		{ "f", "" },
		{ ".cold", "" },
		{ "f.cold12", "" },
		{ "f.colder", "" },
		{ "f.1", "" },
		{ "12", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span parent = cold_parent_name(span_of_text(cases[i][0]));
		assert_true(span_equal(parent, span_of_text(cases[i][1])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cpp_and_rust_names_are_shown_as_written, start,
						stop),
		cmocka_unit_test_setup_teardown(marks_around_a_mangled_name_stay, start, stop),
		cmocka_unit_test_setup_teardown(packs_conversions_closures_and_binders_are_shown,
						start, stop),
		cmocka_unit_test_setup_teardown(long_names_are_shown_too, start, stop),
		cmocka_unit_test_setup_teardown(other_names_are_left_alone, start, stop),
		cmocka_unit_test_setup_teardown(a_name_made_to_explode_is_given_up, start, stop),
		cmocka_unit_test_setup_teardown(a_name_without_end_is_given_up_at_the_deadline,
						start, stop),
		cmocka_unit_test_setup_teardown(a_name_without_end_costs_no_other_of_its_request,
						start, stop),
		cmocka_unit_test_setup_teardown(after_a_few_such_names_none_is_demangled, start,
						stop),
		cmocka_unit_test_setup_teardown(any_number_of_names_may_be_asked_for, start, stop),
		cmocka_unit_test_setup_teardown(an_answer_for_other_names_is_not_believed, start,
						stop),
		cmocka_unit_test_setup_teardown(an_answer_that_ends_within_a_name_is_no_answer,
						start, stop),
		cmocka_unit_test_setup_teardown(names_that_are_answered_late_end_it_too, start,
						stop),
		cmocka_unit_test_setup_teardown(what_names_become_in_memory_is_limited, start,
						stop),
		cmocka_unit_test_setup_teardown(of_an_answer_with_too_many_names_none_is_shown,
						start, stop),
		cmocka_unit_test_setup_teardown(a_text_longer_than_any_name_is_no_answer, start,
						stop),
		cmocka_unit_test_setup_teardown(without_a_helper_names_are_left_alone_at_once,
						start, stop),
		cmocka_unit_test(cold_parts_know_the_name_of_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

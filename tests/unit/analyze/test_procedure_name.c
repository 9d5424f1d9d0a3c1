#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/names/procedure_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"

static void expect_base(const char *name, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	procedure_name_base(name, &out);
	assert_false(buffer_failed(&out));
	assert_string_equal(buffer_text(&out), wanted);
}

static void expect_fit(const char *name, const char *wanted, enum procedure_name_fit fit)
{
	if (procedure_name_fit(name, "", wanted) != fit)
		fail_msg("'%s' for '%s': %d, not %d", wanted, name,
			 procedure_name_fit(name, "", wanted), fit);
}

static void the_base_of_a_c_name_is_the_name(void **state)
{
	(void)state;
	expect_base("main", "main");
	expect_base("", "");
	expect_base("finish_task_switch.isra.0", "finish_task_switch");
	expect_base("parse [clone .part.1]", "parse");
	expect_base("libz.so.1+0x1234", "libz.so.1+0x1234");
	expect_base("[no symbol]", "[no symbol]");
}

static void parameters_arguments_and_return_types_go(void **state)
{
	(void)state;
	expect_base("f(int)", "f");
	expect_base("void demo::sortit<int>(int*, int*)", "demo::sortit");
	expect_base("std::map<int, std::less<int> >::find(int const&) const", "std::map::find");
	expect_base("std::enable_if<true, int>::type f<int>(char)", "f");
	expect_base("decltype (g(0)) f<int>(char) &&", "f");
	expect_base("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	expect_base("char const* (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f");
	expect_base("std::string::append[abi:cxx11](int)", "std::string::append");
	expect_base("A<int>::~A()", "A::~A");
	expect_base("f(void (*)(int), g<int>) [clone .constprop.0]", "f");
	expect_base("std::sort!(int).sort(int[])", "std::sort.sort");
}

static void closures_keep_their_number(void **state)
{
	(void)state;
	expect_base("main::{lambda(int, int)#1}::operator()(int, int) const",
		    "main::{lambda(int, int)#1}::operator()");
	expect_base("sort(int) const::{lambda()#2}::operator()() const",
		    "sort::{lambda()#2}::operator()");
	expect_base("demo::sortit::{{closure}}::h0123456789abcdef", "demo::sortit::{{closure}}");
}

static void operators_are_names(void **state)
{
	(void)state;
	expect_base("bool operator< <int>(A<int> const&, A<int> const&)", "operator<");
	expect_base("s& operator<< <int>(s&, int)", "operator<<");
	expect_base("T* ptr<Type>::operator->() const", "ptr::operator->");
	expect_base("auto operator<=>(A, B)", "operator<=>");
	expect_base("f<int>::operator()(int) const", "f::operator()");
	expect_base("int& A::operator[](int)", "A::operator[]");
	expect_base("operator new(unsigned long)", "operator new");
	expect_base("operator new[](unsigned long)", "operator new[]");
	expect_base("A<int>::operator unsigned long() const", "A::operator unsigned long");
	expect_base("void my_operator<long>(long)", "my_operator");
}

static void rust_names_keep_the_type_they_belong_to(void **state)
{
	(void)state;
	expect_base("<alloc::Vec<T> as core::Clone<U>>::clone",
		    "<alloc::Vec as core::Clone>::clone");
	expect_base("demo::sortit::<i32, fn(i32) -> i32>", "demo::sortit");
	expect_base("core::iter::<impl Iterator for Range<A>>::next",
		    "core::iter::<impl Iterator for Range>::next");
	expect_base("core::ptr::drop_in_place<T>::h0123456789abcdef", "core::ptr::drop_in_place");
}

static void go_java_and_javascript_have_their_own_spelling(void **state)
{
	(void)state;
	expect_base("main.(*T[go.shape.int]).Add", "main.(*T).Add");
	expect_base("main.Map[go.shape.int,go.shape.string]", "main.Map");
	expect_base("main.main.func1", "main.main.func1");
	expect_base("java.lang.String.<init>", "java.lang.String.<init>");
	expect_base("java.util.Arrays.sort(int[])", "java.util.Arrays.sort");
	expect_base("JS:*work /srv/my app.js:3:14", "work");
	expect_base("LazyCompile:~work file.js:1", "work");
	expect_base("py::work:/srv/app.py", "work");
}

static void a_name_whose_brackets_do_not_pair_is_its_own_base(void **state)
{
	(void)state;
	static const char *const odd[] = { "f<int(long>)", "f<int", "f)", "a > b", "((((", "f{" };
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		expect_base(odd[i], odd[i]);
}

/* What a template is made of is in its name; the procedure of that name is meant nevertheless. */
static void a_base_name_fits_better_than_a_part(void **state)
{
	(void)state;
	expect_fit("void demo::sortit<int>(int*)", "demo::sortit", NAME_FITS_BASE);
	expect_fit("void demo::sortit<int>(int*)", "demo::sortit<int>", NAME_FITS_BASE);
	expect_fit("void demo::sortit<int>(int*)", "sortit", NAME_FITS_TAIL);
	expect_fit("void demo::sortit<int>(int*)", "sort", NAME_FITS_PART);
	expect_fit("void demo::sortit<int>(int*)", "void demo::sortit<int>(int*)", NAME_FITS_WHOLE);
	expect_fit("void demo::sortit<int>(int*)", "resort", NAME_FITS_NOT);
	expect_fit("void std::call<demo::sortit<int> >(int)", "demo::sortit", NAME_FITS_PART);
	expect_fit("<demo::sortit as core::Fn>::call", "demo::sortit", NAME_FITS_PART);
	expect_fit("demo::sortit::{closure#0}", "demo::sortit", NAME_FITS_PART);
	expect_fit("resortit(int)", "sortit", NAME_FITS_PART);
	expect_fit("std::map<int, long>::find(int)", "std::map::find", NAME_FITS_BASE);
	expect_fit("std::map<int, long>::find(int)", "map::find", NAME_FITS_TAIL);
	expect_fit("main.(*T[go.shape.int]).Add", "main.(*T).Add", NAME_FITS_BASE);
	expect_fit("main.(*T[go.shape.int]).Add", "Add", NAME_FITS_TAIL);
	expect_fit("main.(*T[go.shape.int]).Add", "(*T).Add", NAME_FITS_TAIL);
	expect_fit("JS:*work /srv/app.js:3:14", "work", NAME_FITS_BASE);
	expect_fit("A::operator<(A const&)", "operator<", NAME_FITS_TAIL);
	expect_fit("main", "", NAME_FITS_PART);
}

static void a_trait_method_is_meant_by_its_type_and_by_its_trait(void **state)
{
	(void)state;
	const char *method = "<alloc::Vec<T> as core::Clone>::clone";
	expect_fit(method, "<alloc::Vec<T> as core::Clone>::clone", NAME_FITS_WHOLE);
	expect_fit(method, "<alloc::Vec as core::Clone>::clone", NAME_FITS_BASE);
	expect_fit(method, "alloc::Vec::clone", NAME_FITS_BASE);
	expect_fit(method, "alloc::Vec<T>::clone", NAME_FITS_BASE);
	expect_fit(method, "core::Clone::clone", NAME_FITS_BASE);
	expect_fit(method, "Vec::clone", NAME_FITS_TAIL);
	expect_fit(method, "clone", NAME_FITS_TAIL);
	const char *impl = "core::iter::<impl Iterator for Range<A>>::next";
	expect_fit(impl, "Range::next", NAME_FITS_BASE);
	expect_fit(impl, "Iterator::next", NAME_FITS_BASE);
	expect_fit(impl, "Range", NAME_FITS_PART);
	/* not Rust: the words between two types share a blank */
	expect_fit("<A as as B>::clone", "A::clone", NAME_FITS_BASE);
	expect_fit("<A as >::clone", "A::clone", NAME_FITS_BASE);
	expect_fit("<impl >::clone", "A::clone", NAME_FITS_NOT);
}

/* "<A as A as ... >::f::f...": a megabyte of types before a megabyte of path. */
static void a_name_of_many_types_is_looked_through_once(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer name = { 0 };
	buffer_append_u8(&name, '<');
	for (int i = 0; i < 200000; i++)
		buffer_append_text(&name, "A as ");
	buffer_append_text(&name, "B>");
	for (int i = 0; i < 300000; i++)
		buffer_append_text(&name, "::f");
	buffer_append_text(&name, "::clone");
	assert_false(buffer_failed(&name));
	assert_int_equal(procedure_name_fit(buffer_text(&name), "", "f::clone"), NAME_FITS_TAIL);
	assert_int_equal(procedure_name_fit(buffer_text(&name), "", "A::clone"), NAME_FITS_NOT);
}

static void the_linkage_name_is_a_name(void **state)
{
	(void)state;
	assert_int_equal(procedure_name_fit("f(int)", "_Z1fi", "_Z1fi"), NAME_FITS_WHOLE);
	assert_int_equal(procedure_name_fit("f(int)", "_Z1fi", "_Z1"), NAME_FITS_PART);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_base_of_a_c_name_is_the_name),
		cmocka_unit_test(parameters_arguments_and_return_types_go),
		cmocka_unit_test(closures_keep_their_number),
		cmocka_unit_test(operators_are_names),
		cmocka_unit_test(rust_names_keep_the_type_they_belong_to),
		cmocka_unit_test(go_java_and_javascript_have_their_own_spelling),
		cmocka_unit_test(a_name_whose_brackets_do_not_pair_is_its_own_base),
		cmocka_unit_test(a_base_name_fits_better_than_a_part),
		cmocka_unit_test(a_trait_method_is_meant_by_its_type_and_by_its_trait),
		cmocka_unit_test(a_name_of_many_types_is_looked_through_once),
		cmocka_unit_test(the_linkage_name_is_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

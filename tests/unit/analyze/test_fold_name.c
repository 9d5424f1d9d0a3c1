#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/names/fold_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"

static void expect(const char *name, size_t most, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	buffer_append_text(&out, "| ");
	fold_name(name, most, &out);
	assert_false(buffer_failed(&out));
	assert_string_equal(buffer_text(&out) + 2, wanted);
}

static void a_name_that_fits_stays(void **state)
{
	(void)state;
	expect("", 0, "");
	expect("main", 4, "main");
	expect("f<int>(long)", 12, "f<int>(long)");
	expect("_a_long_name_of_c", 4, "_a_long_name_of_c");
	expect("f<T>(a)::g(b)", 4, "f<T>(a)::g(b)"); /* f<...>(...)::g(...) is longer */
}

static void the_innermost_brackets_fold_first(void **state)
{
	(void)state;
	const char *name = "void f<map<int, list<long> > >(map<int, list<long> >&, int)";
	expect(name, 58, "void f<map<int, list<...> > >(map<int, list<...> >&, int)");
	expect(name, 50, "void f<map<...> >(map<...>&, int)");
	expect(name, 30, "void f<...>(...)");
	expect(name, 1, "void f<...>(...)");
}

static void what_follows_brackets_stays(void **state)
{
	(void)state;
	expect("a<int>::b<long>::c(char) const [clone .part.0]", 10,
	       "a<...>::b<...>::c(...) const [clone .part.0]");
	expect("f<long>() const", 8, "f<...>() const");
	expect("sort(int)::{lambda(int, int)#1}::operator()(int, int) const", 20,
	       "sort(...)::{lambda(...)#1}::operator()(...) const");
}

static void the_type_that_a_name_begins_with_stays(void **state)
{
	(void)state;
	expect("<alloc::Vec<T> as core::Drop>::drop", 20, "<alloc::Vec<T> as core::Drop>::drop");
	expect("<alloc::Vec<(A, B)> as core::Eq<C>>::eq", 20,
	       "<alloc::Vec<...> as core::Eq<...>>::eq");
	expect("<<A<long> as B>::C as D<long>>::e", 20, "<<A<...> as B>::C as D<...>>::e");
	expect("core::iter::<impl Iterator for Range<long>>::next", 20,
	       "core::iter::<impl Iterator for Range<...>>::next");
	expect("demo::sortit::<i32, fn(i32) -> i32>", 20, "demo::sortit::<...>");
	expect("f<<A as B<long>>::C>(a)", 10, "f<...>(...)");
}

static void operators_are_no_brackets(void **state)
{
	(void)state;
	expect("s& operator<< <int>(s&, int)", 10, "s& operator<< <...>(...)");
	expect("bool operator< (pair, pair)", 10, "bool operator< (...)");
	expect("T* ptr<Type>::operator->() const", 10, "T* ptr<...>::operator->() const");
	expect("auto operator<=>(A, B)", 10, "auto operator<=>(...)");
	expect("void my_operator<long>(long)", 10, "void my_operator<...>(...)");
	expect("f(fn(int) -> long)", 10, "f(...)");
	expect("(anonymous namespace)::f(long)", 10, "(anonymous namespace)::f(...)");
}

static void a_name_with_odd_brackets_stays(void **state)
{
	(void)state;
	static const char *const odd[] = { "f<int(long>)", "f<int", "f)",
					   "a > b",	   "((((",  "operator" };
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		expect(odd[i], 1, odd[i]);
	char deep[400] = "";
	for (size_t i = 0; i < 100; i++) {
		deep[i] = '<';
		deep[199 - i] = '>';
	}
	memset(deep, '<', 100);
	memset(deep + 100, '>', 100);
	expect(deep, 10, deep);
}

static void a_row_names_its_procedure(void **state)
{
	(void)state;
	const char *name = "void std::__introsort_loop<__gnu_cxx::__normal_iterator<Point*, "
			   "std::vector<Point> >, long>(__gnu_cxx::__normal_iterator<Point*>)";
	assert_true(fold_name_is(name, "void std::__introsort_loop<__gnu_cxx::__normal_iterator"
				       "<...>, long>(__gnu_cxx::__normal_iterator<...>)") ||
		    fold_name_is(name, "void std::__introsort_loop<...>(...)"));
	assert_false(fold_name_is(name, name));
	assert_true(fold_name_is("main", "main"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_fits_stays),
		cmocka_unit_test(the_innermost_brackets_fold_first),
		cmocka_unit_test(what_follows_brackets_stays),
		cmocka_unit_test(the_type_that_a_name_begins_with_stays),
		cmocka_unit_test(operators_are_no_brackets),
		cmocka_unit_test(a_name_with_odd_brackets_stays),
		cmocka_unit_test(a_row_names_its_procedure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

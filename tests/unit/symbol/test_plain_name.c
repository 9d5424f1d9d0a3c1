#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "symbol/plain_name.h"

static const char *const plain[] = {
	"_Z1fv",
	"_ZN2ns1hEd",
	"_ZNK2ns1A1fEi.cold",
	"_ZN2ns1AC1ERKS0_",
	"_ZN2ns1AD0Ev",
	"_ZNSt6vectorIiSaIiEE9push_backEOi",
	"_ZNKSt5arrayIcLm16EEixEm",
	"_Z1fIiEvT_RA10_S_",
	"_Z1fPFivEM1AKi",
	"_ZTV1A",
	"_ZTINSt3__14poolE",
	"_ZThn16_N1A1fEv",
	"_ZTv0_n24_N1A1fEv",
	"_ZGVN1A1xE",
	"_ZlsRSoRK1A",
	"_ZNSs4sizeB5cxx11Ev",
	"_ZN7Display6setDpiEi",
	"_ZN4core3fmt5write17h0123456789abcdefE",
	"_ZN36_$LT$T$u20$as$u20$core..fmt..Foo$GT$3fmt17h0123456789abcdefE",
	"_RNvCs1234_7mycrate3foo",
	"_RINvNtCs_3std3mem8align_ofdEB0_",
};

static void what_compilers_make_most_is_plain(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(plain); i++)
		if (!name_is_plain(span_of_text(plain[i])))
			fail_msg("'%s' is not plain", plain[i]);
}

static void what_may_be_read_or_printed_again_and_again_is_not(void **state)
{
	(void)state;
	static const char *const names[] = {
		"_Z1fIJidEEvDpT_",	    /* packs */
		"_Z1fIJEEvv",		    /* an empty one */
		"_Z1fDpFvS_S_E",	    /* an expansion that is searched */
		"_ZN1AcvT_IiEEv",	    /* arguments that are read twice */
		"_Z1fIL_ZN1AcvT_IiEEvEEvv", /* a function as an argument */
		"_ZZ4mainE1x",		    /* a name within a function */
		"_ZZ4mainENKUlvE_clEv",	    /* a closure */
		"_ZN1A1fEU6vendori",	    /* what closures and types without names begin with */
		"_Z1fIXngiEEvv",	    /* expressions */
		"_Z1fDTiE",
		"_Z1fIiEDTfp_ET_",
		"_Z1fILb1EEvXsZT_E",
		"_RNvYFGzzzz_EuNtC1a1b1c", /* binders */
		"_RNvYDGzzzz_NtC1a1bEL_B_1c",
		"_RNvC1au9bcher_kva", /* memory */
		"_Z1fL3Foo40E",	      /* lengths that are none */
		"_Z1fIL15EEvv",
		"_Zv13foo3barJEEvvv",
	};
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (name_is_plain(span_of_text(names[i])))
			fail_msg("'%s' is plain", names[i]);
}

static void other_texts_are_not(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",	  "_",	 "_Z",	 "main",   "__Z1fv", "_Z9f",  "_Z99999999999999999999f",
		"_Z1f.$", "_ZS", "_ZSA", "_Z1fA9", "_ZTh",   "_ZThn1"
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (name_is_plain(span_of_text(texts[i])))
			fail_msg("'%s' is plain", texts[i]);
	char name[1026] = "_Z1fv";
	memset(name + 5, 'v', sizeof(name) - 5);
	assert_true(name_is_plain((struct span){ name, 1024 }));
	assert_false(name_is_plain((struct span){ name, 1025 }));
}

/* Under the sanitizers no cut is read past its end. */
static void a_name_may_end_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(plain); i++) {
		for (size_t size = 1; size < strlen(plain[i]); size++) {
			CLEANUP(free_pointer) char *cut = malloc(size);
			assert_non_null(cut);
			memcpy(cut, plain[i], size);
			name_is_plain((struct span){ cut, size });
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_compilers_make_most_is_plain),
		cmocka_unit_test(what_may_be_read_or_printed_again_and_again_is_not),
		cmocka_unit_test(other_texts_are_not),
		cmocka_unit_test(a_name_may_end_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

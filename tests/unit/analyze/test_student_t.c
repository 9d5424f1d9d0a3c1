/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "base/student_t.h"
#include "base/count_of.h"

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.12g, not %.12g", what, value, wanted);
}

/* Simpson's rule on the density, in Python; three decimals are those of printed tables. */
static void quantiles_are_those_of_tables(void **state)
{
	(void)state;
	static const struct {
		double degrees, of_25, of_200; /* tails of 25 and 200 in 1000 */
	} table[] = {
		{ 1, 12.7062047362, 1.3763819205 }, { 2, 4.3026527297, 1.0606601718 },
		{ 3, 3.1824463053, 0.9784723124 },  { 5, 2.5705818356, 0.9195437802 },
		{ 9, 2.2621571628, 0.8834038597 },  { 19, 2.0930240544, 0.8609505503 },
		{ 30, 2.0422724563, 0.8537672615 }, { 99, 1.9842169516, 0.8452670320 },
	};
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		assert_near("2.5 %", student_t_quantile(0.025, table[i].degrees), table[i].of_25,
			    1e-8);
		assert_near("20 %", student_t_quantile(0.2, table[i].degrees), table[i].of_200,
			    1e-8);
	}
	/* the normal distribution's, plus (z^3 + z) / 4n (Abramowitz and Stegun 26.7.5) */
	assert_near("10,000", student_t_quantile(0.025, 1e4), 1.959963985 + 2.3722e-4, 1e-7);
	assert_near("1,000,000", student_t_quantile(0.025, 1e6), 1.959963985 + 2.3722e-6, 1e-8);
}

/* One degree is Cauchy's distribution, two have a closed form. */
static void few_degrees_have_closed_forms(void **state)
{
	(void)state;
	for (double t = 0.001; t < 2000; t *= 1.7) {
		double cauchy = atan2(1, t) / M_PI;
		assert_near("1", student_t_upper(t, 1) / cauchy, 1, 1e-9);
		double root = sqrt(2 + t * t);
		double two = 1 / (root * (root + t)); /* (1 - t/root) / 2 without cancellation */
		assert_near("2", student_t_upper(t, 2) / two, 1, 1e-9);
		assert_near("the other side", student_t_upper(-t, 2), 1 - two, 1e-12);
	}
	assert_near("the middle", student_t_upper(0, 7), 0.5, 0);
}

static void quantiles_invert_tails(void **state)
{
	(void)state;
	for (double degrees = 1; degrees < 1e6; degrees *= 9)
		for (double tail = 0.49; tail > 1e-9; tail /= 3)
			assert_near("tail",
				    student_t_upper(student_t_quantile(tail, degrees), degrees) /
					    tail,
				    1, 1e-7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_those_of_tables),
		cmocka_unit_test(few_degrees_have_closed_forms),
		cmocka_unit_test(quantiles_invert_tails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

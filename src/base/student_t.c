#include "base/student_t.h"

#include <math.h>

#include "base/incomplete_beta.h"

#define BISECTIONS 60 /* of an interval as long as its lower end: all digits of a double */

double student_t_upper(double t, double degrees)
{
	/* of the two forms the one whose argument keeps its digits */
	double square = t * t;
	double beyond = square < degrees
				? 1 - incomplete_beta(square / (degrees + square), 0.5, degrees / 2)
				: incomplete_beta(degrees / (degrees + square), degrees / 2, 0.5);
	return t < 0 ? 1 - beyond / 2 : beyond / 2;
}

double student_t_quantile(double tail, double degrees)
{
	double low = 0, high = 1;
	while (student_t_upper(high, degrees) > tail) {
		low = high;
		high *= 2;
	}
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = low + (high - low) / 2;
		if (student_t_upper(middle, degrees) > tail)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

/*
 * c_locale - numbers with a decimal point, whatever locale the program around libculprit has
 * chosen: what is read by strtod_l(3), what is printed between c_locale_enter() and
 * c_locale_leave() of the same thread.
 */
#pragma once

#include <locale.h>
#include <stdlib.h>

/* The C locale is the C library's own object: this allocates nothing, cannot fail, and it is not
 * freed. */
static inline locale_t c_locale(void)
{
	return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static inline locale_t c_locale_enter(void)
{
	return uselocale(c_locale());
}

static inline void c_locale_leave(locale_t before)
{
	uselocale(before);
}

/*
 * c_locale - numbers are written and read as in C, whatever locale the program has set: "0.5" is
 * half, and JSON has no decimal comma. For the calling thread, from begin to end.
 */
#pragma once

#include <locale.h>

struct c_locale {
	locale_t own, before;
};

/* 0 or -ENOMEM, where nothing is changed and there is nothing to end. */
int c_locale_begin(struct c_locale *c);
void c_locale_end(struct c_locale *c);

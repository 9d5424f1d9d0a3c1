#include "base/c_locale.h"

#include <errno.h>

int c_locale_begin(struct c_locale *c)
{
	c->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c->own)
		return -ENOMEM;
	c->before = uselocale(c->own);
	return 0;
}

void c_locale_end(struct c_locale *c)
{
	uselocale(c->before);
	freelocale(c->own);
}

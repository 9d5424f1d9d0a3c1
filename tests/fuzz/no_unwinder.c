#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "import/unwind/unwind.h"

/* Unwinding has a target of its own, and would fork for each input: here there is none, as on a
 * machine where no helper can be made. */
int unwinder_new(const struct unwind_options *options, struct unwinder **out, struct error *err)
{
	(void)options;
	(void)out;
	return error_set(err, -EAGAIN, "not while fuzzing");
}

void unwinder_free(struct unwinder *unwinder)
{
	(void)unwinder;
}

int unwinder_run(struct unwinder *unwinder, const struct unwind_sample *sample,
		 struct unwind_run *run)
{
	(void)unwinder;
	(void)sample;
	(void)run;
	abort(); /* there is no unwinder */
}

uint64_t unwinder_count(const struct unwinder *unwinder, enum unwind_end end)
{
	(void)unwinder;
	(void)end;
	return 0;
}

const char *unwind_end_text(enum unwind_end end)
{
	(void)end;
	return "not unwound";
}

int unwinder_missing(const struct unwinder *unwinder, struct unwind_missing **list, size_t *count)
{
	(void)unwinder;
	*list = NULL;
	*count = 0;
	return 0;
}

uint16_t unwind_machine(struct span name)
{
	return name.size ? 62 : 0;
}

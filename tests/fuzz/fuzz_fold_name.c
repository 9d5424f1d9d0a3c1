/* Long names of procedures, folded to several widths: never longer than they were. Nor are
 * their base names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/fold_name.h"
#include "analyze/names/procedure_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_pointer) char *name = malloc(size + 1);
	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = 0;
	for (size_t most = 1; most <= 81; most += 16) {
		CLEANUP(buffer_release) struct buffer once = { 0 };
		fold_name(name, most, &once);
		const char *folded = buffer_text(&once);
		if (buffer_failed(&once))
			return 0;
		if (strlen(folded) > strlen(name))
			abort();
		if (strlen(name) <= most && strcmp(folded, name) != 0)
			abort();
	}
	CLEANUP(buffer_release) struct buffer base = { 0 };
	procedure_name_base(name, &base);
	if (buffer_failed(&base))
		return 0;
	if (base.size > strlen(name))
		abort();
	if (procedure_name_fit(name, "", name) != NAME_FITS_WHOLE)
		abort();
	(void)procedure_name_fit(name, "", buffer_text(&base)); /* of odd names no base at all */
	return 0;
}

#include "image/landing_pads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static int compare_vaddrs(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;
	return (*left > *right) - (*left < *right);
}

static int read_call_sites(struct cursor *cursor, uint8_t encoding, uint64_t start,
			   const struct frame_base *base, struct landing_pads *pads)
{
	size_t capacity = 0;
	while (cursor_left(cursor) > 0) {
		frame_value_read(cursor, encoding, base->wide); /* where it begins */
		frame_value_read(cursor, encoding, base->wide); /* its length */
		uint64_t pad = frame_value_read(cursor, encoding, base->wide);
		cursor_varint(cursor); /* what is done there */
		if (cursor->failed)
			break;
		if (pad == 0)
			continue; /* the exception goes on to the caller */
		if (array_reserve(&pads->list, &capacity, pads->count, sizeof(*pads->list)) < 0)
			return -ENOMEM;
		pads->list[pads->count++] = base->wide ? start + pad : (uint32_t)(start + pad);
	}
	return 0;
}

int landing_pads_read(struct span lsda, const struct frame_base *base, uint64_t function,
		      struct landing_pads *pads)
{
	*pads = (struct landing_pads){ 0 };
	struct cursor cursor = cursor_of(lsda.data, lsda.size);
	uint64_t start = function;
	uint8_t encoding = cursor_u8(&cursor);
	if (encoding != PE_OMIT)
		start = frame_pointer_read(&cursor, encoding, base);
	if (cursor_u8(&cursor) != PE_OMIT)
		cursor_varint(&cursor); /* distance to the end of the table of types */
	encoding = cursor_u8(&cursor);
	uint64_t size = cursor_varint(&cursor);
	if (cursor.failed || size > cursor_left(&cursor) || (encoding & ~PE_FORMAT))
		return 0;
	cursor.size = cursor.at + size;
	int ret = read_call_sites(&cursor, encoding, start, base, pads);
	if (ret < 0) {
		landing_pads_release(pads);
		return ret;
	}
	if (pads->count == 0)
		return 0;
	qsort(pads->list, pads->count, sizeof(*pads->list), compare_vaddrs);
	size_t kept = 1;
	for (size_t i = 1; i < pads->count; i++)
		if (pads->list[i] != pads->list[kept - 1])
			pads->list[kept++] = pads->list[i];
	pads->count = kept;
	return 0;
}

void landing_pads_release(struct landing_pads *pads)
{
	free(pads->list);
	*pads = (struct landing_pads){ 0 };
}

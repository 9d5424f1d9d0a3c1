/*
 * array - room for one more element in a malloc'ed array: at its end, or at any
 * position in one whose elements are zero until they are set.
 */
#pragma once

#include <stddef.h>

/*
 * Makes `*elements` hold at least `count + 1` elements of `element_size` bytes,
 * doubling `*capacity` as needed, or from 1 MiB on adding a quarter to it. Returns 0,
 * or -ENOMEM with nothing changed.
 * `elements` is the address of the array pointer.
 */
int array_reserve(void *elements, size_t *capacity, size_t count, size_t element_size);

/* The same for an element at `position`, however far behind the end; all elements that it adds up
 * to *capacity are zero. */
int array_reserve_zeroed(void *elements, size_t *capacity, size_t position, size_t element_size);

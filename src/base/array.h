/*
 * array - room for one more element at the end of a malloc'ed array.
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

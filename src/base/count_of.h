/*
 * count_of - how many elements an array has. For arrays only, not pointers.
 */
#pragma once

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

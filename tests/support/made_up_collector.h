/*
 * made_up_collector - a collector whose one ring is plain memory, which tests and benches fill in
 * place of the kernel: a clock's samples of code in the kernel, each at an address of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;

/* A collector of one CPU, with a ring of so many bytes, a power of two; collector_free() frees it.
 * It gathers a stash. */
struct collector *made_up_collector_new(size_t ring_bytes);
/* One sample more, with calls that led there. False: the ring is full, and the kernel would have
 * lost it. By one thread, beside the one that owns the collector. */
bool made_up_collector_sample(struct collector *collector);
/* Whoever serves the ring has taken all up to there. */
uint64_t made_up_collector_served(const struct collector *collector);

/*
 * made_up_collector - a collector whose one ring is plain memory, which tests and benches fill in
 * place of the kernel: a clock's samples of code in the kernel, each at an address of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;

/* A collector of one CPU, with a ring of so many bytes, a power of two. It gathers a stash. The
 * caller frees it by collector_free(). */
struct collector *made_up_collector_new(size_t ring_bytes);
/* Writes one sample with its call chain. False: the ring is full, and the kernel would have lost
 * it. For one thread, which need not be the one that owns the collector. */
bool made_up_collector_sample(struct collector *collector);
/* How many bytes have been written into the ring, and how many have been read, since the collector
 * was made. */
uint64_t made_up_collector_written(const struct collector *collector);
uint64_t made_up_collector_served(const struct collector *collector);

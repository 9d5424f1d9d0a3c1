/*
 * quantity - numbers as people read them: one unit prefix for a whole column,
 * so that its figures line up and compare, and a few words for a single one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define QUANTITY_SIZE 64

/* How a column is written: value / divisor with `decimals` digits after the point. */
struct quantity_scale {
	double divisor;
	int decimals;
	char unit[QUANTITY_SIZE]; /* "s", "M", "" */
};

/* For figures up to `largest`, in units of `unit` ("ns" become seconds and their parts): the
 * largest keeps five digits. */
struct quantity_scale quantity_scale_for(double largest, struct span unit);
void quantity_format(const struct quantity_scale *scale, double value, char text[QUANTITY_SIZE]);

/* One figure alone: "18.91 s", "2.41 G", "404 k". */
void quantity_describe(double value, struct span unit, char text[QUANTITY_SIZE]);
void quantity_bytes(uint64_t bytes, char text[QUANTITY_SIZE]);
/* 18904 as "18 904". */
void quantity_count(uint64_t count, char text[QUANTITY_SIZE]);
/* "12.3 %", "<0.01 %", "99.98 %": of `whole`; "100 %" only when it is all, ">1000 %" from there on;
 * "-" when whole is 0. */
void quantity_percent(double part, double whole, char text[QUANTITY_SIZE]);

/*
 * flame_images - the images of a flame graph with their colours: each has the
 * one that its name gives in every graph (flame_package_number()), so several may
 * share one. Code of no known image goes by its kind. Names are borrowed from the
 * view.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flame_view;

struct flame_image {
	const char *name;
	const char *class; /* of CSS */
	uint64_t self;	   /* in steps of the width event, of the frames shown */
	bool shared;	   /* another image with frames has its colour */
};

struct flame_images {
	struct flame_image *list; /* largest first */
	size_t count;
	const char **of_label; /* by label: its CSS class */
};

/* Returns 0 or -ENOMEM; released either way. */
int flame_images_init(struct flame_images *images, const struct flame_view *view);
void flame_images_release(struct flame_images *images);

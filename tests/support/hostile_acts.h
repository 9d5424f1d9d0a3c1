/*
 * hostile_acts - what somebody would try who has taken over a helper process: one
 * function for each attempt, which really makes it. A test runs them in a helper's place
 * and checks that they are refused, and unconfined to check that they are real attempts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "confine/confinement.h"

/* What an attempt may harm, made before the helper starts. */
struct hostile_scene {
	char secret[300];	  /* a file of the user's, mode 0600 */
	char folder[300];	  /* one of the user's */
	char unix_socket[108];	  /* somebody listens */
	char abstract_socket[64]; /* likewise; without the leading zero byte */
	int tcp_port;		  /* likewise, on 127.0.0.1 */
	pid_t starter, victim;	  /* other processes of the user's */
	long *victim_word;	  /* in the victim and here at the same address: 4711 */
	volatile int *shared;	  /* memory that the starter shares */
	int inherited;		  /* a descriptor that the starter has open */
	int handed;		  /* one that came with the request, for writing; -1: none */
};

enum hostile_flag {
	/* A helper of this kind may do it, since that is its work. */
	HOSTILE_MAY_PARSE = 1 << CONFINEMENT_PARSE,
	HOSTILE_MAY_OPEN = 1 << CONFINEMENT_OPEN,
	HOSTILE_MAY_STEP = 1 << CONFINEMENT_STEP,
	HOSTILE_WORKS = 16, /* unconfined it must succeed, for root and for users */
	HOSTILE_WORKS_AS_ROOT = 32,
	HOSTILE_PROBES_MEMORY = 64, /* not under sanitizers, which have no limits */
};

struct hostile_act {
	const char *name;
	unsigned int flags;
	long (*run)(const struct hostile_scene *scene); /* a negative errno: refused */
};

extern const struct hostile_act hostile_acts[];
extern const size_t hostile_act_count;

/* Fills the scene; ends the test program where it cannot. */
void hostile_scene_make(struct hostile_scene *scene, const char *folder);
/* Whether everything is as it was: the file, the victim. */
bool hostile_scene_is_unharmed(const struct hostile_scene *scene);
void hostile_scene_end(struct hostile_scene *scene);

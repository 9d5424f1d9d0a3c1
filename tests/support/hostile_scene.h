/*
 * hostile_scene - what the attempts of hostile_acts.h may harm: files, processes, sockets and
 * memory of a user.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Made before the helper starts. */
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

#define HOSTILE_SECRET_TEXT "the secret\n" /* what the file holds */

/* Fills the scene; ends the test program where it cannot. */
void hostile_scene_make(struct hostile_scene *scene, const char *folder);
/* Whether everything is as it was: the file, the victim. */
bool hostile_scene_is_unharmed(const struct hostile_scene *scene);
void hostile_scene_end(struct hostile_scene *scene);

/* FOLDER/name; valid until the next call. */
const char *hostile_path(const struct hostile_scene *scene, const char *name);

/*
 * vdso - the executable that the kernel maps into every process, copied from
 * our own memory: all processes of one kernel have the same bytes.
 */
#pragma once

struct buffer;
struct error;

/* Appends the vdso's bytes to *out. Returns 0, -ENOENT when the kernel gave us none, or another
 * negative errno. */
int vdso_read(struct buffer *out, struct error *err);

/*
 * machine_root - where /proc and /sys are read from. The real one is "/"; a
 * test gives a folder with a tree of another machine. What is not in a file
 * (cpuid, system calls) is asked only when the root is the real one.
 *
 * Paths are relative, without a leading slash: "sys/devices/system/cpu/online".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct cpu_set;
struct error;

struct machine_root {
	int fd;	   /* of the folder */
	bool live; /* the machine we run on */
};

/* `path` is "/" for the machine itself. Returns 0 or a negative errno value. */
int machine_root_open(const char *path, struct machine_root *root, struct error *err);
void machine_root_close(struct machine_root *root);

/* The whole file, at most 1 MiB. 0 or negative errno. */
int root_read_text(const struct machine_root *root, const char *path, struct buffer *out);
/* The first line without its newline and spaces around it, cut to `size - 1` bytes; 0 or negative
 * errno. */
int root_read_line(const struct machine_root *root, const char *path, char *line, size_t size);
/* A whole file that is one number, decimal or 0x; -EINVAL when it is not. */
int root_read_u64(const struct machine_root *root, const char *path, uint64_t *value);
int root_read_i64(const struct machine_root *root, const char *path, int64_t *value);
/* A whole file that is a set of CPUs (cpu_set_parse()); 0 or negative errno. */
int root_read_cpus(const struct machine_root *root, const char *path, struct cpu_set *set);
bool root_exists(const struct machine_root *root, const char *path);

/*
 * Calls `visit` for each name in a folder, sorted, without those that begin
 * with a dot, until it returns non-zero, which is passed on. Returns 0 or a
 * negative errno value.
 */
typedef int (*root_visit)(void *context, const char *name);
int root_list(const struct machine_root *root, const char *path, root_visit visit, void *context);

/* printf into a path of bounded size; a path that does not fit becomes "", which no read finds. */
#define ROOT_PATH_SIZE 512
struct root_path {
	char text[ROOT_PATH_SIZE];
};
__attribute__((format(printf, 1, 2))) struct root_path root_path(const char *format, ...);

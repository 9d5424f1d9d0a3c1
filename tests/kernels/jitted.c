/*
 * jitted - works in code made at run time, and tells about it in one way.
 *
 *	jitted map SECONDS       /tmp/perf-PID.map names it jit_mapped
 *	jitted dump SECONDS      ./jit-PID.dump, marked by an executable mapping, jit_dumped
 *	jitted both SECONDS      both
 *	jitted fifo SECONDS      the map is a FIFO that nobody writes to
 *	jitted link SECONDS      the map is a symbolic link to a right one
 *	jitted huge SECONDS      the map has 10 GB, sparse, after a right line
 *	jitted large SECONDS     the same with 1 GB
 *	jitted left SECONDS      the map stays there
 *	jitted late SECONDS      and comes when half of the work is done
 *	jitted silent SECONDS    it tells nothing; what is there stays
 *	jitted mappings SECONDS  20000 executable mappings come and go before; no map
 *	jitted foreign SECONDS   the map belongs to another user (needs root)
 *	jitted maptwice SECONDS  jit_first works so long; then jit_second, loaded over it, a
 *	                         tenth of that; a map tells of both, each when it is loaded
 *	jitted dumptwice SECONDS the same with a jitdump, whose times are right, and which stays
 *
 * It removes what it made, unless said otherwise.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK_BYTES  4096
#define HUGE_BYTES  10000000000
#define LARGE_BYTES 1000000000
#define MAPPINGS    20000
#define NOBODY	    65534

/* Counts its argument down to 0. */
#if defined(__x86_64__)
#define MACHINE EM_X86_64
static const uint8_t countdown[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
static const uint32_t countdown[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
#error "no code for this machine"
#endif

static char map_path[64], target_path[64], dump_path[64];

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int add_to_map(const char *path, const void *code, const char *name)
{
	FILE *map = fopen(path, "a");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx %s\n", (unsigned long)code, sizeof(countdown), name);
	return fclose(map);
}

static int write_map(const char *path, const void *code)
{
	unlink(path);
	return add_to_map(path, code, "jit_mapped");
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* linux: tools/perf/Documentation/jitdump-specification.txt */
static int add_to_dump(int fd, const void *code, const char *name, uint64_t time)
{
	static uint64_t index;
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
	} load = { 0,
		   (uint32_t)(56 + strlen(name) + 1 + sizeof(countdown)),
		   time,
		   (uint32_t)getpid(),
		   (uint32_t)getpid(),
		   (uintptr_t)code,
		   (uintptr_t)code,
		   sizeof(countdown),
		   ++index };
	_Static_assert(sizeof(load) == 56, "as the format has it");
	return write(fd, &load, sizeof(load)) != sizeof(load) ||
	       write(fd, name, strlen(name) + 1) != (ssize_t)strlen(name) + 1 ||
	       write(fd, countdown, sizeof(countdown)) != sizeof(countdown);
}

/* Stores its descriptor. */
static int open_dump(int *fd)
{
	struct {
		uint32_t magic, version, size, machine, padding, pid;
		uint64_t time, flags;
	} header = { 0x4a695444, 1, 40, MACHINE, 0, (uint32_t)getpid(), 0, 0 };
	_Static_assert(sizeof(header) == 40, "as the format has it");
	*fd = open(dump_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return *fd < 0 || write(*fd, &header, sizeof(header)) != sizeof(header) ||
	       mmap(NULL, MARK_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, *fd, 0) == MAP_FAILED;
}

static int write_dump(const void *code)
{
	int fd;
	return open_dump(&fd) || add_to_dump(fd, code, "jit_dumped", 0) || close(fd);
}

/* In bursts, so that who listens to them has the time. */
static int map_often(void)
{
	for (int i = 0; i < MAPPINGS; i++) {
		void *place =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (place == MAP_FAILED || munmap(place, 4096))
			return 1;
		if (i % 1000 == 0)
			usleep(30000);
	}
	return 0;
}

static int tell(const char *mode, const void *code)
{
	if (strcmp(mode, "map") == 0)
		return write_map(map_path, code);
	if (strcmp(mode, "dump") == 0)
		return write_dump(code);
	if (strcmp(mode, "both") == 0)
		return write_map(map_path, code) || write_dump(code);
	if (strcmp(mode, "fifo") == 0)
		return mkfifo(map_path, 0600);
	if (strcmp(mode, "link") == 0)
		return write_map(target_path, code) || symlink(target_path, map_path);
	if (strcmp(mode, "huge") == 0)
		return write_map(map_path, code) || truncate(map_path, HUGE_BYTES);
	if (strcmp(mode, "large") == 0)
		return write_map(map_path, code) || truncate(map_path, LARGE_BYTES);
	if (strcmp(mode, "left") == 0)
		return write_map(map_path, code);
	if (strcmp(mode, "late") == 0 || strcmp(mode, "silent") == 0)
		return 0;
	if (strcmp(mode, "mappings") == 0)
		return map_often();
	if (strcmp(mode, "foreign") == 0)
		return write_map(map_path, code) || chown(map_path, NOBODY, NOBODY);
	return 2;
}

static void work(const void *code, double seconds)
{
	void (*run)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	double begin = cpu_seconds();
	while (cpu_seconds() < begin + seconds)
		run(100000);
}

/* One after the other at the same address, each told of when it is there. */
static int work_twice(const char *mode, const void *code, double seconds)
{
	int dump = -1;
	int ret = strcmp(mode, "dumptwice") == 0 ? open_dump(&dump) : 0;
	for (int i = 0; i < 2 && ret == 0; i++) {
		const char *name = i ? "jit_second" : "jit_first";
		ret = dump >= 0 ? add_to_dump(dump, code, name, now_ns())
				: add_to_map(map_path, code, name);
		work(code, i ? seconds / 10 : seconds);
	}
	unlink(map_path);
	return ret;
}

int main(int argc, char **argv)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc != 3 || code == MAP_FAILED) {
		fprintf(stderr, "usage: see tests/kernels/jitted.c\n");
		return 2;
	}
	memcpy(code, countdown, sizeof(countdown));
	__builtin___clear_cache(code, (char *)code + sizeof(countdown));
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	snprintf(target_path, sizeof(target_path), "/tmp/perf-%d.target", getpid());
	snprintf(dump_path, sizeof(dump_path), "jit-%d.dump", getpid());
	void (*run)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	double seconds = strtod(argv[2], NULL);
	if (strcmp(argv[1], "maptwice") == 0 || strcmp(argv[1], "dumptwice") == 0)
		return work_twice(argv[1], code, seconds);
	int ret = tell(argv[1], code);
	double begin = cpu_seconds();
	while (ret == 0 && cpu_seconds() < begin + seconds / 2)
		run(1000000);
	if (strcmp(argv[1], "late") == 0)
		ret = write_map(map_path, code);
	while (ret == 0 && cpu_seconds() < begin + seconds)
		run(1000000);
	if (strcmp(argv[1], "left") && strcmp(argv[1], "late") && strcmp(argv[1], "silent"))
		unlink(map_path);
	unlink(target_path);
	unlink(dump_path);
	return ret;
}

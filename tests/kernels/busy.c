/*
 * busy - programs that are hard to sample, each with a known answer. All work is
 * done in busy_one and busy_two, 1:2 in time, unless said otherwise.
 *
 *	busy split SECONDS            both, in this process
 *	busy threads COUNT SECONDS    the same in threads named worker-N
 *	busy forks COUNT MS           COUNT children one after another, each MS of work
 *	busy execs COUNT MS           the same, each child executes this program again
 *	busy tree SECONDS             a child and a grandchild work, both executed
 *	busy jit SECONDS              work in code made at run time, told as jit_work in
 *	                              /tmp/perf-PID.map
 *	busy memfd SECONDS            executes a copy of this program from memory
 *	busy deleted SECONDS          deletes its own file, then works
 *	busy system SECONDS           system calls without end
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS 1000

/* CPU time of this thread: what others take does not shorten the work. */
static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline __attribute__((always_inline)) uint64_t turn(uint64_t count)
{
	uint64_t value = 1;
	for (uint64_t i = 0; i < count; i++) {
		value = value * 3 + i;
		__asm__ volatile("" : "+r"(value));
	}
	return value;
}

__attribute__((noinline, noclone)) uint64_t busy_one(uint64_t count);
__attribute__((noinline, noclone)) uint64_t busy_two(uint64_t count);

uint64_t busy_one(uint64_t count)
{
	return turn(count);
}

uint64_t busy_two(uint64_t count)
{
	return turn(2 * count) + 1;
}

static void split(double seconds)
{
	double end = cpu_seconds() + seconds;
	do {
		for (int i = 0; i < 100; i++) {
			busy_one(TURNS);
			busy_two(TURNS);
		}
	} while (cpu_seconds() < end);
}

struct worker {
	int number;
	double seconds;
};

static void *work(void *argument)
{
	const struct worker *worker = argument;
	char name[16];
	snprintf(name, sizeof(name), "worker-%d", worker->number);
	pthread_setname_np(pthread_self(), name);
	split(worker->seconds);
	return NULL;
}

static int threads(int count, double seconds)
{
	pthread_t ids[64];
	struct worker workers[64];
	if (count > 64)
		return 2;
	for (int i = 0; i < count; i++) {
		workers[i] = (struct worker){ i, seconds };
		if (pthread_create(&ids[i], NULL, work, &workers[i]))
			return 1;
	}
	for (int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static int children(int count, const char *ms, int execute)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			char seconds[32];
			snprintf(seconds, sizeof(seconds), "%f", strtod(ms, NULL) / 1000);
			if (execute)
				execl("/proc/self/exe", "busy", "split", seconds, (char *)NULL);
			split(strtod(seconds, NULL));
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

static int tree(const char *program, const char *seconds)
{
	pid_t pid = fork();
	if (pid == 0) {
		pid_t grandchild = fork();
		if (grandchild == 0) {
			execl(program, "busy", "split", seconds, (char *)NULL);
			_exit(127);
		}
		waitpid(grandchild, NULL, 0);
		execl(program, "busy", "split", seconds, (char *)NULL);
		_exit(127);
	}
	int status;
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1;
}

/* Counts its argument down to 0. */
#if defined(__x86_64__)
static const uint8_t countdown[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
static const uint32_t countdown[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
#error "no code for this machine"
#endif

static int jit(double seconds)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = code == MAP_FAILED ? NULL : fopen(path, "w");
	if (!map)
		return 1;
	memcpy(code, countdown, sizeof(countdown));
	__builtin___clear_cache(code, (char *)code + sizeof(countdown));
	fprintf(map, "%lx %zx jit_work\n", (unsigned long)code, sizeof(countdown));
	fclose(map);
	void (*run)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	double end = cpu_seconds() + seconds;
	while (cpu_seconds() < end)
		run(1000000);
	unlink(path);
	return 0;
}

static int from_memory(const char *seconds)
{
	char bytes[65536];
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = (int)syscall(SYS_memfd_create, "busy-in-memory", MFD_CLOEXEC);
	for (ssize_t got; in >= 0 && (got = read(in, bytes, sizeof(bytes))) > 0;)
		if (write(out, bytes, (size_t)got) != got)
			return 1;
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	execl(path, "busy", "split", seconds, (char *)NULL);
	return 1;
}

static int deleted(double seconds)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (size < 0)
		return 1;
	path[size] = 0;
	if (unlink(path))
		return 1;
	split(seconds);
	return 0;
}

static int system_calls(double seconds)
{
	double end = cpu_seconds() + seconds;
	while (cpu_seconds() < end)
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	double last = argc > 2 ? strtod(argv[argc - 1], NULL) : 0;
	if (strcmp(mode, "split") == 0)
		return split(last), 0;
	if (strcmp(mode, "threads") == 0 && argc == 4)
		return threads(atoi(argv[2]), last);
	if (strcmp(mode, "forks") == 0 && argc == 4)
		return children(atoi(argv[2]), argv[3], 0);
	if (strcmp(mode, "execs") == 0 && argc == 4)
		return children(atoi(argv[2]), argv[3], 1);
	if (strcmp(mode, "tree") == 0)
		return tree("/proc/self/exe", argv[2]);
	if (strcmp(mode, "jit") == 0)
		return jit(last);
	if (strcmp(mode, "memfd") == 0)
		return from_memory(argv[2]);
	if (strcmp(mode, "deleted") == 0)
		return deleted(last);
	if (strcmp(mode, "system") == 0)
		return system_calls(last);
	fprintf(stderr, "usage: see tests/kernels/busy.c\n");
	return 2;
}

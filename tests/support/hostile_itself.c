/*
 * Attempts of a process to change itself: its identity, limits and memory.
 */
#include <errno.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "support/hostile_acts_private.h"

static long become_root(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_setuid, 0));
}

static long take_capabilities(const struct hostile_scene *scene)
{
	(void)scene;
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	return hostile_result(syscall(SYS_capset, &header, sets));
}

static long be_traceable(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static long outlive_starter(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static long raise_limit(const struct hostile_scene *scene)
{
	(void)scene;
	struct rlimit limit = { 10, 10 };
	return hostile_result(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL));
}

static long ignore_end(const struct hostile_scene *scene)
{
	(void)scene;
	return signal(SIGXCPU, SIG_IGN) == SIG_ERR ? -errno : 0;
}

static long map_code(const struct hostile_scene *scene)
{
	(void)scene;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? -errno : 0;
}

static long turn_data_into_code(const struct hostile_scene *scene)
{
	(void)scene;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? 0 : hostile_result(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static long map_low(const struct hostile_scene *scene)
{
	(void)scene;
	void *page = mmap((void *)0x50000000, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return page == MAP_FAILED ? -errno : 0;
}

static long unmap_low(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(munmap((void *)0x10000000, 4096));
}

static long write_low(const struct hostile_scene *scene)
{
	(void)scene;
	if (mprotect((void *)0x10000000, 4096, PROT_READ | PROT_WRITE) == 0 || errno == ENOMEM)
		return 0; /* nothing was there, but it was allowed */
	return -errno;
}

static long take_memory(const struct hostile_scene *scene)
{
	(void)scene;
	void *memory = mmap(NULL, (size_t)8 << 30, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? -errno : hostile_result(munmap(memory, (size_t)8 << 30));
}

static const struct hostile_act acts[] = {
	{ "become root", HOSTILE_WORKS_AS_ROOT, become_root },
	{ "change its capabilities", HOSTILE_WORKS, take_capabilities },
	{ "let itself be traced", HOSTILE_WORKS, be_traceable },
	{ "outlive its starter", HOSTILE_WORKS, outlive_starter },
	{ "change a limit", HOSTILE_WORKS, raise_limit },
	/* the stepper needs a handler of alarms, and has no limit on its time */
	{ "ignore the end of its time", HOSTILE_MAY_STEP | HOSTILE_WORKS, ignore_end },
	{ "map code", HOSTILE_WORKS, map_code },
	{ "turn data into code", HOSTILE_WORKS, turn_data_into_code },
	/* refused to helpers that open files, whose code for that lies at low addresses */
	{ "map low", HOSTILE_MAY_PARSE | HOSTILE_MAY_STEP | HOSTILE_WORKS, map_low },
	{ "unmap low", HOSTILE_MAY_PARSE | HOSTILE_MAY_STEP | HOSTILE_WORKS, unmap_low },
	{ "write low", HOSTILE_MAY_PARSE | HOSTILE_MAY_STEP | HOSTILE_WORKS, write_low },
	{ "take 8 GiB of memory",
	  HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS | HOSTILE_PROBES_MEMORY,
	  take_memory },
};

const struct hostile_group hostile_itself = { acts, COUNT_OF(acts) };

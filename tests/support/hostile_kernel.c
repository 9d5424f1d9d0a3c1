/*
 * Attempts to use parts of the kernel that no helper needs.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "support/hostile_acts_private.h"

static long leave_namespace(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_unshare, CLONE_NEWUSER));
}

static long leave_mounts(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_unshare, CLONE_NEWNS));
}

static long mount_folder(const struct hostile_scene *scene)
{
	int ret = mount("hostile", scene->folder, "tmpfs", 0, NULL);
	int number = errno;
	if (ret == 0)
		umount2(scene->folder, MNT_DETACH);
	return ret < 0 ? -number : 0;
}

static long load_bpf(const struct hostile_scene *scene)
{
	(void)scene;
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};
	return hostile_opened((int)syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
}

static long open_event(const struct hostile_scene *scene)
{
	(void)scene;
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof(event),
					 .config = PERF_COUNT_SW_CPU_CLOCK };
	return hostile_opened((int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
}

static long make_ring(const struct hostile_scene *scene)
{
	(void)scene;
	char parameters[120] = { 0 };
	return hostile_opened((int)syscall(425 /* io_uring_setup */, 1, parameters));
}

static long make_key(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(
		syscall(SYS_add_key, "user", "hostile", "x", 1, -2 /* of the process */));
}

static long read_key(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_keyctl, 0, -3 /* of the session */, 1));
}

static long catch_faults(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_opened((int)syscall(SYS_userfaultfd, 1));
}

static long share_segment(const struct hostile_scene *scene)
{
	(void)scene;
	long id = syscall(SYS_shmget, 0, 4096, 01600);
	if (id < 0)
		return -errno;
	syscall(SYS_shmctl, id, 0, NULL);
	return 0;
}

static long read_kernel_log(const struct hostile_scene *scene)
{
	(void)scene;
	return hostile_result(syscall(SYS_syslog, 10, NULL, 0));
}

static long call_32_bit(const struct hostile_scene *scene)
{
	(void)scene;
#ifdef __x86_64__
	return hostile_result(syscall(0x40000000 | SYS_getpid));
#else
	return -ENOSYS;
#endif
}

static const struct hostile_act acts[] = {
	{ "enter a user namespace", 0, leave_namespace },
	{ "enter a mount namespace", HOSTILE_WORKS_AS_ROOT, leave_mounts },
	{ "mount", HOSTILE_WORKS_AS_ROOT, mount_folder },
	{ "make a BPF map", HOSTILE_WORKS_AS_ROOT, load_bpf },
	{ "open a performance event", HOSTILE_WORKS_AS_ROOT, open_event },
	{ "make an io_uring", 0, make_ring },
	{ "make a key", 0, make_key },
	{ "read a key ring", 0, read_key },
	{ "catch faults", 0, catch_faults },
	{ "make a shared segment", 0, share_segment },
	{ "read the kernel's log", 0, read_kernel_log },
	{ "call as x32 does", 0, call_32_bit },
};

const struct hostile_group hostile_kernel = { acts, COUNT_OF(acts) };

#include "support/hostile_acts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/count_of.h"

#define SECRET	       "the secret\n"
#define INHERITED_FD   200
#define INHERITED_SIZE 4096

static long result(long value)
{
	return value < 0 ? -errno : 0;
}

/* Of an attempt that opens a descriptor. */
static long opened(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static const char *below(const struct hostile_scene *scene, const char *name)
{
	static char path[400];
	snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	return path;
}

/* Files */

static long read_file(const struct hostile_scene *scene)
{
	return opened(open(scene->secret, O_RDONLY));
}

static long write_file(const struct hostile_scene *scene)
{
	return opened(open(scene->secret, O_WRONLY));
}

static long append_by_openat2(const struct hostile_scene *scene)
{
	struct open_how how = { .flags = O_WRONLY | O_APPEND };
	return opened((int)syscall(SYS_openat2, AT_FDCWD, scene->secret, &how, sizeof(how)));
}

/* By openat2(), which the helper that opens files may call, with flags that it never has. */
static long create_by_openat2(const struct hostile_scene *scene)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0600 };
	return opened((int)confinement_openat2(AT_FDCWD, below(scene, "made2"), &how));
}

static long create_file(const struct hostile_scene *scene)
{
	return opened(open(below(scene, "made"), O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static long create_nameless(const struct hostile_scene *scene)
{
	return opened(open(scene->folder, O_TMPFILE | O_RDWR, 0600));
}

static long truncate_file(const struct hostile_scene *scene)
{
	return result(truncate(scene->secret, (off_t)sizeof(SECRET) - 1));
}

static long remove_file(const struct hostile_scene *scene)
{
	return result(unlink(below(scene, "removable")));
}

static long rename_file(const struct hostile_scene *scene)
{
	char from[400];
	snprintf(from, sizeof(from), "%s", below(scene, "renamable"));
	return result(rename(from, below(scene, "renamed")));
}

static long link_file(const struct hostile_scene *scene)
{
	return result(symlink("/etc/passwd", below(scene, "link")));
}

static long make_folder(const struct hostile_scene *scene)
{
	return result(mkdir(below(scene, "sub"), 0700));
}

static long make_fifo(const struct hostile_scene *scene)
{
	return result(mkfifo(below(scene, "fifo"), 0600));
}

static long change_mode(const struct hostile_scene *scene)
{
	return result(chmod(scene->secret, 0600));
}

static long change_owner(const struct hostile_scene *scene)
{
	return result(chown(scene->secret, geteuid(), getegid()));
}

static long change_times(const struct hostile_scene *scene)
{
	return result(utimensat(AT_FDCWD, scene->secret, NULL, 0));
}

static long examine_file(const struct hostile_scene *scene)
{
	struct stat info;
	return result(fstatat(AT_FDCWD, scene->secret, &info, 0));
}

/* By AT_EMPTY_PATH, as fstat() does it, but with a path. */
static long examine_by_empty_path(const struct hostile_scene *scene)
{
	struct stat info;
	return result(fstatat(AT_FDCWD, scene->secret, &info, AT_EMPTY_PATH));
}

static long list_folder(const struct hostile_scene *scene)
{
	return opened(open(scene->folder, O_RDONLY | O_DIRECTORY));
}

static long change_folder(const struct hostile_scene *scene)
{
	return result(chdir(scene->folder));
}

static long write_own_memory(const struct hostile_scene *scene)
{
	(void)scene;
	return opened(open("/proc/self/mem", O_RDWR));
}

static long read_inherited(const struct hostile_scene *scene)
{
	char byte;
	return result(pread(scene->inherited, &byte, 1, 0));
}

static long write_handed(const struct hostile_scene *scene)
{
	return result(write(scene->handed, "x", 1));
}

static long grow_handed(const struct hostile_scene *scene)
{
	return result(ftruncate(scene->handed, 1 << 20));
}

static long write_shared(const struct hostile_scene *scene)
{
	*scene->shared = 1;
	return 0;
}

static long make_file_in_memory(const struct hostile_scene *scene)
{
	(void)scene;
	return opened((int)syscall(SYS_memfd_create, "hostile", 0));
}

static long control_device(const struct hostile_scene *scene)
{
	(void)scene;
	int bytes;
	return result(syscall(SYS_ioctl, STDIN_FILENO, 0x541b, &bytes)); /* FIONREAD */
}

static long read_environment(const struct hostile_scene *scene)
{
	(void)scene;
	return getenv("HOSTILE_SECRET") ? 0 : -ENOENT;
}

/* Other processes */

static long trace(const struct hostile_scene *scene)
{
	long ret = syscall(SYS_ptrace, PTRACE_SEIZE, scene->victim, 0, 0);
	int number = errno;
	if (ret == 0)
		syscall(SYS_ptrace, PTRACE_DETACH, scene->victim, 0, 0);
	return ret < 0 ? -number : 0;
}

static long read_process(const struct hostile_scene *scene)
{
	long word;
	struct iovec here = { &word, sizeof(word) };
	struct iovec there = { scene->victim_word, sizeof(word) };
	return result(syscall(SYS_process_vm_readv, scene->victim, &here, 1, &there, 1, 0));
}

static long write_process(const struct hostile_scene *scene)
{
	long word = 4711;
	struct iovec here = { &word, sizeof(word) };
	struct iovec there = { scene->victim_word, sizeof(word) };
	return result(syscall(SYS_process_vm_writev, scene->victim, &here, 1, &there, 1, 0));
}

static long read_process_file(const struct hostile_scene *scene)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", scene->victim);
	return opened(open(path, O_RDONLY));
}

static long write_process_file(const struct hostile_scene *scene)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", scene->victim);
	return opened(open(path, O_RDWR));
}

static long signal_process(const struct hostile_scene *scene)
{
	return result(syscall(SYS_kill, scene->victim, SIGCONT));
}

static long signal_thread(const struct hostile_scene *scene)
{
	return result(syscall(SYS_tgkill, scene->victim, scene->victim, SIGCONT));
}

static long signal_starter(const struct hostile_scene *scene)
{
	return result(syscall(SYS_kill, scene->starter, SIGCONT));
}

static long open_process(const struct hostile_scene *scene)
{
	return opened((int)syscall(SYS_pidfd_open, scene->victim, 0));
}

static long limit_process(const struct hostile_scene *scene)
{
	struct rlimit limit;
	return result(syscall(SYS_prlimit64, scene->victim, RLIMIT_CORE, NULL, &limit));
}

static long move_process(const struct hostile_scene *scene)
{
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	return result(syscall(SYS_sched_setaffinity, scene->victim, sizeof(all), &all));
}

static long slow_process(const struct hostile_scene *scene)
{
	return result(syscall(SYS_setpriority, PRIO_PROCESS, scene->victim, 19));
}

static long make_process(const struct hostile_scene *scene)
{
	(void)scene;
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -errno;
	waitpid((pid_t)pid, NULL, 0);
	return 0;
}

#ifdef SYS_fork
static long fork_the_old_way(const struct hostile_scene *scene)
{
	(void)scene;
	long pid = syscall(SYS_fork);
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -errno;
	waitpid((pid_t)pid, NULL, 0);
	return 0;
}
#endif

static long execute(const struct hostile_scene *scene)
{
	(void)scene;
	char *const arguments[] = { (char *)"true", NULL };
	execve("/bin/true", arguments, arguments + 1); /* its exit status is 0 */
	return -errno;
}

/* Networks */

static long connect_tcp(const struct hostile_scene *scene)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)scene->tcp_port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	long ret = result(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
	return ret;
}

static long listen_tcp(const struct hostile_scene *scene)
{
	(void)scene;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	long ret = result(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	if (ret == 0)
		ret = result(listen(fd, 1));
	close(fd);
	return ret;
}

static long make_socket(int family, int type, int protocol)
{
	return opened(socket(family, type, protocol));
}

static long make_udp(const struct hostile_scene *scene)
{
	(void)scene;
	return make_socket(AF_INET6, SOCK_DGRAM, 0);
}

static long make_netlink(const struct hostile_scene *scene)
{
	(void)scene;
	return make_socket(AF_NETLINK, SOCK_RAW, 0);
}

static long make_pair(const struct hostile_scene *scene)
{
	(void)scene;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -errno;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static long connect_unix_to(const char *name, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, name, size);
	long ret = result(connect(fd, (struct sockaddr *)&address,
				  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)));
	close(fd);
	return ret;
}

static long connect_unix(const struct hostile_scene *scene)
{
	return connect_unix_to(scene->unix_socket, strlen(scene->unix_socket) + 1);
}

static long connect_abstract(const struct hostile_scene *scene)
{
	char name[sizeof(scene->abstract_socket) + 1] = "";
	size_t size = strlen(scene->abstract_socket);
	memcpy(name + 1, scene->abstract_socket, size);
	return connect_unix_to(name, size + 1);
}

/* The kernel */

static long leave_namespace(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_unshare, CLONE_NEWUSER));
}

static long leave_mounts(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_unshare, CLONE_NEWNS));
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
	return opened((int)syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
}

static long open_event(const struct hostile_scene *scene)
{
	(void)scene;
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof(event),
					 .config = PERF_COUNT_SW_CPU_CLOCK };
	return opened((int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
}

static long make_ring(const struct hostile_scene *scene)
{
	(void)scene;
	char parameters[120] = { 0 };
	return opened((int)syscall(425 /* io_uring_setup */, 1, parameters));
}

static long make_key(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_add_key, "user", "hostile", "x", 1, -2 /* of the process */));
}

static long read_key(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_keyctl, 0, -3 /* of the session */, 1));
}

static long catch_faults(const struct hostile_scene *scene)
{
	(void)scene;
	return opened((int)syscall(SYS_userfaultfd, 1));
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
	return result(syscall(SYS_syslog, 10, NULL, 0));
}

static long call_32_bit(const struct hostile_scene *scene)
{
	(void)scene;
#ifdef __x86_64__
	return result(syscall(0x40000000 | SYS_getpid));
#else
	return -ENOSYS;
#endif
}

/* Itself */

static long become_root(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_setuid, 0));
}

static long take_capabilities(const struct hostile_scene *scene)
{
	(void)scene;
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	return result(syscall(SYS_capset, &header, sets));
}

static long be_traceable(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static long outlive_starter(const struct hostile_scene *scene)
{
	(void)scene;
	return result(syscall(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static long raise_limit(const struct hostile_scene *scene)
{
	(void)scene;
	struct rlimit limit = { 10, 10 };
	return result(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL));
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
	return page == MAP_FAILED ? 0 : result(mprotect(page, 4096, PROT_READ | PROT_EXEC));
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
	return result(munmap((void *)0x10000000, 4096));
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
	return memory == MAP_FAILED ? -errno : result(munmap(memory, (size_t)8 << 30));
}

const struct hostile_act hostile_acts[] = {
	{ "read a file", HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS, read_file },
	{ "write a file", HOSTILE_WORKS, write_file },
	{ "append by openat2", HOSTILE_WORKS, append_by_openat2 },
	{ "create by openat2", HOSTILE_WORKS, create_by_openat2 },
	{ "create a file", HOSTILE_WORKS, create_file },
	{ "create a nameless file", 0, create_nameless },
	{ "truncate a file", HOSTILE_WORKS, truncate_file },
	{ "remove a file", HOSTILE_WORKS, remove_file },
	{ "rename a file", HOSTILE_WORKS, rename_file },
	{ "make a link", HOSTILE_WORKS, link_file },
	{ "make a folder", HOSTILE_WORKS, make_folder },
	{ "make a FIFO", HOSTILE_WORKS, make_fifo },
	{ "change a mode", HOSTILE_WORKS, change_mode },
	{ "change an owner", HOSTILE_WORKS, change_owner },
	{ "change times", HOSTILE_WORKS, change_times },
	{ "examine a file", HOSTILE_MAY_OPEN | HOSTILE_WORKS, examine_file },
	{ "examine by an empty path", HOSTILE_MAY_OPEN | HOSTILE_WORKS, examine_by_empty_path },
	{ "list a folder", HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS, list_folder },
	{ "change its folder", HOSTILE_WORKS, change_folder },
	{ "write its own memory by /proc", HOSTILE_WORKS, write_own_memory },
	{ "read what its starter has open", HOSTILE_WORKS, read_inherited },
	{ "write what it is handed", HOSTILE_MAY_OPEN, write_handed },
	{ "grow what it is handed", 0, grow_handed },
	{ "write memory of its starter's", HOSTILE_WORKS, write_shared },
	{ "make a file in memory", HOSTILE_MAY_OPEN | HOSTILE_WORKS, make_file_in_memory },
	{ "control a device", 0, control_device },
	{ "read the environment", HOSTILE_WORKS, read_environment },
	{ "trace a process", HOSTILE_MAY_STEP | HOSTILE_WORKS, trace },
	{ "read a process's memory", HOSTILE_WORKS, read_process },
	{ "write a process's memory", HOSTILE_WORKS, write_process },
	{ "read a process's memory by /proc", HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS,
	  read_process_file },
	{ "write a process's memory by /proc", HOSTILE_WORKS, write_process_file },
	{ "signal a process", HOSTILE_WORKS, signal_process },
	{ "signal a thread", HOSTILE_WORKS, signal_thread },
	{ "signal its starter", HOSTILE_WORKS, signal_starter },
	{ "open a process", HOSTILE_WORKS, open_process },
	{ "limit a process", HOSTILE_WORKS, limit_process },
	{ "move a process", HOSTILE_WORKS, move_process },
	{ "slow a process", HOSTILE_WORKS, slow_process },
	{ "make a process", HOSTILE_WORKS, make_process },
#ifdef SYS_fork
	{ "fork the old way", HOSTILE_WORKS, fork_the_old_way },
#endif
	{ "execute", HOSTILE_WORKS, execute },
	{ "connect by TCP", HOSTILE_WORKS, connect_tcp },
	{ "listen by TCP", HOSTILE_WORKS, listen_tcp },
	{ "make a UDP socket", 0, make_udp },
	{ "make a netlink socket", HOSTILE_WORKS, make_netlink },
	{ "make a pair of sockets", HOSTILE_WORKS, make_pair },
	{ "connect to a unix socket", HOSTILE_WORKS, connect_unix },
	{ "connect to an abstract socket", HOSTILE_WORKS, connect_abstract },
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
const size_t hostile_act_count = COUNT_OF(hostile_acts);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "the scene cannot be made: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_text(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, SECRET, sizeof(SECRET) - 1) == sizeof(SECRET) - 1, path);
	close(fd);
}

static long word = 4711;

/* Keeps the sockets open. */
_Noreturn static void be_victim(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* not Yama is to refuse it */
	must(write(ready, "x", 1) == 1, "ready");
	for (;;)
		pause();
}

void hostile_scene_make(struct hostile_scene *scene, const char *folder)
{
	*scene = (struct hostile_scene){ .handed = -1, .victim_word = &word, .starter = getpid() };
	snprintf(scene->folder, sizeof(scene->folder), "%s", folder);
	snprintf(scene->secret, sizeof(scene->secret), "%s/secret", folder);
	snprintf(scene->unix_socket, sizeof(scene->unix_socket), "%s/s", folder);
	snprintf(scene->abstract_socket, sizeof(scene->abstract_socket), "culprit-%d", getpid());
	write_text(scene->secret);
	write_text(below(scene, "removable"));
	write_text(below(scene, "renamable"));
	must(setenv("HOSTILE_SECRET", "password", 1) == 0, "setenv");
	scene->shared = mmap(NULL, INHERITED_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must((void *)scene->shared != MAP_FAILED, "mmap");
	int fd = open(scene->secret, O_RDONLY | O_CLOEXEC);
	scene->inherited = dup2(fd, INHERITED_FD);
	must(fd >= 0 && scene->inherited >= 0, "dup2");
	close(fd);

	struct sockaddr_in tcp = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	struct sockaddr_un abstract = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(tcp);
	int sockets[] = { socket(AF_INET, SOCK_STREAM, 0), socket(AF_UNIX, SOCK_STREAM, 0),
			  socket(AF_UNIX, SOCK_STREAM, 0) };
	memcpy(file.sun_path, scene->unix_socket, sizeof(file.sun_path));
	memcpy(abstract.sun_path + 1, scene->abstract_socket, strlen(scene->abstract_socket));
	must(bind(sockets[0], (struct sockaddr *)&tcp, sizeof(tcp)) == 0 &&
		     getsockname(sockets[0], (struct sockaddr *)&tcp, &size) == 0,
	     "TCP");
	must(bind(sockets[1], (struct sockaddr *)&file, sizeof(file)) == 0, "unix socket");
	must(bind(sockets[2], (struct sockaddr *)&abstract,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			      strlen(scene->abstract_socket))) == 0,
	     "abstract socket");
	scene->tcp_port = ntohs(tcp.sin_port);
	for (size_t i = 0; i < COUNT_OF(sockets); i++)
		must(listen(sockets[i], 64) == 0, "listen");
	int ready[2];
	char byte;
	must(pipe2(ready, O_CLOEXEC) == 0, "pipe");
	scene->victim = fork();
	must(scene->victim >= 0, "fork");
	if (scene->victim == 0)
		be_victim(ready[1]);
	must(read(ready[0], &byte, 1) == 1, "the victim");
	close(ready[0]);
	close(ready[1]);
	for (size_t i = 0; i < COUNT_OF(sockets); i++)
		close(sockets[i]);
}

bool hostile_scene_is_unharmed(const struct hostile_scene *scene)
{
	char text[64];
	int fd = open(scene->secret, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return size == sizeof(SECRET) - 1 && memcmp(text, SECRET, sizeof(SECRET) - 1) == 0 &&
	       waitpid(scene->victim, NULL, WNOHANG) == 0 && *scene->shared == 0 &&
	       access(below(scene, "removable"), F_OK) == 0 &&
	       access(below(scene, "renamable"), F_OK) == 0 &&
	       access(below(scene, "made"), F_OK) != 0 &&
	       access(below(scene, "made2"), F_OK) != 0 && access(below(scene, "sub"), F_OK) != 0 &&
	       access(below(scene, "fifo"), F_OK) != 0;
}

void hostile_scene_end(struct hostile_scene *scene)
{
	kill(scene->victim, SIGKILL);
	waitpid(scene->victim, NULL, 0);
	close(scene->inherited);
	munmap((void *)scene->shared, INHERITED_SIZE);
	unsetenv("HOSTILE_SECRET");
}

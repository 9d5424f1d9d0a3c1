/* without-bpf ERRNO COMMAND [ARGUMENTS] - runs a command in which bpf(2) fails with that error, as
 * where a container's filter of system calls forbids it. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
	unsigned error = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	if (!error) {
		fputs("usage: without-bpf ERRNO COMMAND [ARGUMENTS]\n", stderr);
		return 2;
	}
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };
	/* A filter takes no privilege from who may install one without giving them up. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)) {
		perror("without-bpf: cannot install a filter");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}

#include "support/stopped_thread.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#define STEP_BYTES 4096u

static bool read_registers(pid_t pid, struct stopped_thread *out)
{
	struct user_regs_struct have;
	struct iovec parts = { &have, sizeof(have) };
	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &parts) < 0)
		return false;
	uint64_t *registers = out->registers;
	memset(registers, 0, sizeof(out->registers));
#if defined(__x86_64__)
	registers[1] = have.rbx;
	registers[5] = have.rdi;
	registers[6] = have.rbp;
	registers[7] = have.rsp;
	registers[8] = have.rip;
	registers[18] = have.r10;
	out->ip = have.rip;
	out->sp = have.rsp;
	out->link = 0;
#else
	memcpy(registers, have.regs, 31 * sizeof(registers[0]));
	registers[31] = have.sp;
	registers[32] = have.pc;
	out->ip = have.pc;
	out->sp = have.sp;
	out->link = have.regs[30];
#endif
	return true;
}

bool stopped_thread_read(pid_t pid, size_t most, struct stopped_thread *out)
{
	if (!read_registers(pid, out))
		return false;
	struct iovec to = { out->stack, most };
	struct iovec from = { (void *)(uintptr_t)out->sp, most };
	ssize_t got;
	while ((got = process_vm_readv(pid, &to, 1, &from, 1, 0)) < 0 && errno == EFAULT &&
	       from.iov_len > STEP_BYTES)
		from.iov_len -= STEP_BYTES;
	out->stack_bytes = got < 0 ? 0 : (size_t)got;
	return true;
}

struct stack_walk stopped_thread_walk(const struct stopped_thread *thread)
{
	return (struct stack_walk){ .machine = WALK_MACHINE,
				    .registers = thread->registers,
				    .mask = WALK_MASK,
				    .stack = { thread->stack, thread->stack_bytes } };
}

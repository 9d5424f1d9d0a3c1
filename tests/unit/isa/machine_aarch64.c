#include "machine_aarch64.h"

#ifdef __aarch64__
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MIDDLE_AT    (64 * 1024)
#define MAPPED_BYTES (256 * 1024) /* offsets reach 64 KiB */

#define BREAK UINT32_C(0xd4200000) /* brk #0 */
#define NZCV  UINT64_C(0xf0000000)

/*
 * The state goes in and out by a signal handler: it changes the registers that the signal's
 * return restores, and the program goes on at the instruction, behind which a break
 * raises the next signal.
 */
static uint32_t *code;
static uint8_t *memory;
static const struct machine_state *given;
static struct machine_state *taken;
static ucontext_t host;
static volatile bool inside, faulted;

static struct fpsimd_context *vectors_of(ucontext_t *context)
{
	uint8_t *at = context->uc_mcontext.__reserved;
	struct _aarch64_ctx *head = (struct _aarch64_ctx *)(void *)at;
	while (head->magic && head->magic != FPSIMD_MAGIC) {
		at += head->size;
		head = (struct _aarch64_ctx *)(void *)at;
	}
	return (struct fpsimd_context *)(void *)head;
}

static void enter(ucontext_t *context)
{
	mcontext_t *machine = &context->uc_mcontext;
	memcpy(machine->regs, given->general, 31 * sizeof(uint64_t));
	machine->sp = given->general[31];
	machine->pc = (uintptr_t)code;
	machine->pstate = (machine->pstate & ~NZCV) | (given->nzcv & NZCV);
	memcpy(vectors_of(context)->vregs, given->vectors, sizeof(given->vectors));
}

static void leave(ucontext_t *context)
{
	mcontext_t *machine = &context->uc_mcontext;
	memcpy(taken->general, machine->regs, 31 * sizeof(uint64_t));
	taken->general[31] = machine->sp;
	taken->nzcv = machine->pstate & NZCV;
	memcpy(taken->vectors, vectors_of(context)->vregs, sizeof(taken->vectors));
	*machine = host.uc_mcontext;
	machine->pc += 4; /* behind the break that came in */
}

static void on_signal(int signal, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	(void)info;
	if (!inside) {
		host.uc_mcontext = context->uc_mcontext;
		inside = true;
		enter(context);
		return;
	}
	faulted = signal != SIGTRAP || context->uc_mcontext.pc != (uintptr_t)(code + 1);
	leave(context);
	inside = false;
}

bool machine_start(void)
{
	static uint8_t signal_stack[65536];
	static const int signals[] = { SIGILL, SIGSEGV, SIGFPE, SIGBUS, SIGTRAP };
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	memory = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (code == MAP_FAILED || memory == MAP_FAILED)
		return false;
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action = { .sa_sigaction = on_signal,
					    .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_NODEFER };
		sigaction(signals[i], &action, NULL);
	}
	return true;
}

uint64_t machine_code(void)
{
	return (uintptr_t)code;
}

uint64_t machine_memory(void)
{
	return (uintptr_t)(memory + MIDDLE_AT);
}

bool machine_run(uint32_t word, const struct machine_state *before, struct machine_state *after)
{
	uint8_t *window = memory + MIDDLE_AT - MACHINE_MEMORY_AT;
	code[0] = word;
	code[1] = BREAK;
	__builtin___clear_cache((char *)code, (char *)(code + 2));
	memcpy(window, before->memory, sizeof(before->memory));
	given = before;
	taken = after;
	__asm__ volatile("brk #1" ::: "memory");
	memcpy(after->memory, window, sizeof(after->memory));
	return !faulted;
}
#endif

#include "bpf/user_stack.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/cursor.h"
#include "base/error.h"
#include "bpf/kernel_layout.h"
#include "bpf/program.h"
#include "bpf/program_barrier.h"

#define SERIALS	    (1u << 24)
#define RING_SHARE  4 /* copies may take one in so many of a ring's bytes */
#define SLAB_BYTES  ((size_t)FRAME_SLAB_WORDS * sizeof(uint32_t))
#define TABLE_BYTES (USER_STACK_TABLES * sizeof(struct user_stack_table))

static const struct program_object_kind kind = {
	.name = "user_stack",
	.purpose = "walking stacks in the kernel",
	.linux_version = "6.1",
};

struct user_stack {
	struct bpf_object *object;
	struct sample_extra extra;
	struct program_barrier barrier;
	struct ring_buffer *bell;
	struct user_stack_table *tables; /* both sides see these */
	struct user_stack_state *state;
	const struct user_stack_cpu *times; /* of each CPU */
	bool taken[USER_STACK_TABLES];
	/* Given back, but programs may still look at them. */
	uint32_t leaving[USER_STACK_TABLES];
	size_t leaving_count;
	uint32_t *slabs[FRAME_SLAB_MOST];
	int slab_fds[FRAME_SLAB_MOST];
	uint32_t serial;
	uint32_t cpus;
};

void user_stack_free(struct user_stack *stack)
{
	if (!stack)
		return;
	for (size_t i = 0; i < FRAME_SLAB_MOST; i++)
		if (stack->slabs[i]) {
			munmap(stack->slabs[i], SLAB_BYTES);
			close(stack->slab_fds[i]);
		}
	if (stack->tables)
		munmap(stack->tables, TABLE_BYTES);
	if (stack->times)
		munmap((void *)(uintptr_t)stack->times, stack->cpus * sizeof(*stack->times));
	if (stack->state)
		munmap(stack->state, sizeof(*stack->state));
	program_barrier_close(&stack->barrier);
	ring_buffer__free(stack->bell);
	program_object_close(stack->object);
	free(stack);
}

static void user_stack_freep(struct user_stack **stack)
{
	user_stack_free(*stack);
}

/* NULL with errno. */
static void *map_shared(const struct user_stack *stack, const char *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    program_object_map(stack->object, map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* A stroke of the bell says nothing but that there is one. */
static int hear(void *context, void *stroke, size_t size)
{
	(void)context;
	(void)stroke;
	(void)size;
	return 0;
}

static int load(struct user_stack *stack, const struct user_stack_settings *settings,
		struct error *err)
{
	const struct program_map_size sizes[] = {
		{ "memos", settings->cpus << USER_STACK_MEMO_BITS },
		{ "copies", settings->cpus },
		{ "cpus", settings->cpus },
		{ "bell", (uint32_t)sysconf(_SC_PAGESIZE) },
	};
	const struct program_object_settings told = { .constants = settings,
						      .constants_size = sizeof(*settings),
						      .sizes = sizes,
						      .size_count = COUNT_OF(sizes) };
	int ret = program_object_load(&kind, &told, &stack->object, err);
	if (ret < 0)
		return ret;
	stack->extra.program_fd = program_object_program(stack->object, "walk_stack");
	stack->extra.outputs_fd = program_object_map(stack->object, "outputs");
	stack->tables = map_shared(stack, "tables", TABLE_BYTES);
	stack->state = map_shared(stack, ".bss", sizeof(*stack->state));
	stack->times = map_shared(stack, "cpus", settings->cpus * sizeof(*stack->times));
	stack->bell = ring_buffer__new(program_object_map(stack->object, "bell"), hear, NULL, NULL);
	if (!stack->tables || !stack->state || !stack->times || !stack->bell)
		return program_object_refused(&kind, -errno, err);
	ret = program_barrier_open(&stack->barrier);
	return ret < 0 ? program_object_refused(&kind, ret, err) : 0;
}

int user_stack_new(struct user_stack **out, struct error *err)
{
	struct user_stack_settings settings = { 0 };
	int cpus = libbpf_num_possible_cpus();
	CLEANUP(user_stack_freep) struct user_stack *stack = calloc(1, sizeof(*stack));
	if (!stack || cpus < 0)
		return error_set(err, cpus < 0 ? cpus : -ENOMEM,
				 "cannot walk stacks in the kernel: %s",
				 strerror(cpus < 0 ? -cpus : ENOMEM));
	stack->barrier = PROGRAM_BARRIER_CLOSED;
	stack->cpus = settings.cpus = (uint32_t)cpus;
	int ret = kernel_layout_read(&settings.layout, err);
	if (ret == 0 && settings.layout.mm_tree == KERNEL_FIELD_NONE)
		ret = program_object_refused(&kind, -EOPNOTSUPP, err);
	if (ret == 0)
		ret = load(stack, &settings, err);
	if (ret < 0)
		return ret;
	*out = stack;
	stack = NULL;
	return 0;
}

static void forget_mappings(struct user_stack *stack)
{
	__atomic_fetch_add(&stack->state->generation, 1, __ATOMIC_RELEASE);
}

void user_stack_begin(struct user_stack *stack, size_t ring_bytes, uint32_t root)
{
	__atomic_store_n(&stack->state->root, root, __ATOMIC_RELAXED);
	__atomic_store_n(&stack->state->room, (uint32_t)(ring_bytes / RING_SHARE),
			 __ATOMIC_RELAXED);
	forget_mappings(stack);
}

int user_stack_bell_fd(const struct user_stack *stack)
{
	return ring_buffer__epoll_fd(stack->bell);
}

bool user_stack_rang(struct user_stack *stack)
{
	return ring_buffer__consume(stack->bell) > 0;
}

void user_stack_taken(struct user_stack *stack)
{
	__atomic_fetch_add(&stack->state->turn, 1, __ATOMIC_RELAXED);
}

const struct sample_extra *user_stack_extra(const struct user_stack *stack)
{
	return &stack->extra;
}

uint32_t *user_stack_slab(struct user_stack *stack, uint32_t number)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	if (number >= FRAME_SLAB_MOST || stack->slabs[number])
		return NULL;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "culprit_rules", sizeof(uint32_t), SLAB_BYTES,
				1, &options);
	if (fd < 0)
		return NULL;
	void *words = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED ||
	    program_map_set(program_object_map(stack->object, "slabs"), number, (uint32_t)fd) < 0) {
		if (words != MAP_FAILED)
			munmap(words, SLAB_BYTES);
		close(fd);
		return NULL;
	}
	stack->slab_fds[number] = fd;
	return stack->slabs[number] = words;
}

/* The number of a table that nobody has; USER_STACK_TABLES: there is none. */
static uint32_t take_table(struct user_stack *stack)
{
	uint32_t at = 0;
	while (at < USER_STACK_TABLES && stack->taken[at])
		at++;
	return at;
}

static int put_number(struct user_stack *stack, const struct user_stack_key *key, uint32_t number)
{
	return bpf_map_update_elem(program_object_map(stack->object, "files"), key, &number,
				   BPF_ANY);
}

int user_stack_postpone(struct user_stack *stack, const struct user_stack_key *key)
{
	return put_number(stack, key, USER_STACK_POSTPONED);
}

int user_stack_put(struct user_stack *stack, const struct user_stack_key *key,
		   const struct frame_table_place *place)
{
	if (!place)
		return put_number(stack, key, 0);
	uint32_t at = take_table(stack);
	if (at == USER_STACK_TABLES)
		return -ENOSPC;
	stack->serial = (stack->serial + 1) % SERIALS;
	stack->tables[at] = (struct user_stack_table){ .key = *key,
						       .first_page = place->first_page,
						       .page_count = place->page_count,
						       .pages_at = place->pages_at,
						       .rules_at = place->rules_at,
						       .serial = stack->serial };
	int ret = put_number(stack, key, at + 1);
	stack->taken[at] = ret == 0;
	return ret;
}

void user_stack_forget(struct user_stack *stack, const struct user_stack_key *key)
{
	int files = program_object_map(stack->object, "files");
	uint32_t number;
	if (bpf_map_lookup_elem(files, key, &number) < 0)
		return;
	bpf_map_delete_elem(files, key);
	forget_mappings(stack); /* CPUs remember the last ones that they looked into */
	if (number && number != USER_STACK_ASKED && number != USER_STACK_POSTPONED)
		stack->leaving[stack->leaving_count++] = number - 1;
}

int user_stack_wait(struct user_stack *stack)
{
	int ret = program_barrier_wait(&stack->barrier);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < stack->leaving_count; i++)
		stack->taken[stack->leaving[i]] = false;
	stack->leaving_count = 0;
	return 0;
}

struct program_time user_stack_time(const struct user_stack *stack)
{
	struct program_time time = { 0 };
	for (uint32_t i = 0; i < stack->cpus; i++)
		program_time_add(&time, &stack->times[i].walks);
	return time;
}

uint64_t user_stack_bytes(const struct user_stack *stack)
{
	return TABLE_BYTES +
	       (((uint64_t)16 << USER_STACK_MEMO_BITS) + USER_STACK_COPY_BYTES) * stack->cpus;
}

bool user_stack_read(struct span raw, struct user_stack_read *out)
{
	struct cursor cursor = cursor_of(raw.data, raw.size);
	const void *head = cursor_take(&cursor, sizeof(out->head));
	*out = (struct user_stack_read){ 0 };
	if (!head)
		return false;
	memcpy(&out->head, head, sizeof(out->head));
	if (out->head.kind == USER_STACK_FRAMES) {
		out->frames = cursor_take(&cursor, out->head.count * sizeof(uint64_t));
		return out->frames != NULL;
	}
	for (size_t i = 0; i < USER_STACK_REGISTERS; i++)
		out->registers[i] = cursor_u64(&cursor);
	out->stack.data = cursor_take(&cursor, out->head.count);
	out->stack.size = cursor.failed ? 0 : out->head.count;
	return out->head.kind == USER_STACK_COPY && !cursor.failed;
}

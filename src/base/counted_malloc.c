/*
 * counted_malloc - malloc() and its siblings as the GNU C library has them, but that
 * an open budget (base/budget.h) counts what they hand out, with the library's
 * own bookkeeping, and refuses what would pass its limit. A program's own definition takes the
 * place of the library's everywhere, in shared libraries too ("Replacing malloc" in the
 * library's manual), so SQLite and the decompressors are bounded likewise.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/budget.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

#define HEADER_BYTES (2 * sizeof(size_t)) /* of a block, beside what can be used */

/* What a block takes. Requests are checked before it is made, so that nothing huge ever is. */
static uint64_t cost_of(void *memory)
{
	return malloc_usable_size(memory) + HEADER_BYTES;
}

/* Counts a block that was made after `asked` bytes had been taken for it. */
static void *settle(void *memory, uint64_t asked)
{
	uint64_t cost = memory ? cost_of(memory) : 0;
	if (cost < asked)
		budget_return_memory(asked - cost);
	else if (cost > asked && !budget_take_memory(cost - asked)) {
		budget_return_memory(asked);
		__libc_free(memory);
		memory = NULL;
		errno = ENOMEM;
	}
	return memory;
}

static bool take(size_t size, uint64_t *asked)
{
	*asked = (uint64_t)size + HEADER_BYTES;
	if (size <= SIZE_MAX - HEADER_BYTES && budget_take_memory(*asked))
		return true;
	errno = ENOMEM;
	return false;
}

void *malloc(size_t size)
{
	uint64_t asked;
	if (!budget_counts)
		return __libc_malloc(size);
	return take(size, &asked) ? settle(__libc_malloc(size), asked) : NULL;
}

void *calloc(size_t count, size_t size)
{
	uint64_t asked;
	size_t all;
	if (!budget_counts || __builtin_mul_overflow(count, size, &all))
		return __libc_calloc(count, size);
	return take(all, &asked) ? settle(__libc_calloc(count, size), asked) : NULL;
}

void free(void *memory)
{
	if (budget_counts && memory)
		budget_return_memory(cost_of(memory));
	__libc_free(memory);
}

void *realloc(void *memory, size_t size)
{
	uint64_t asked;
	if (!budget_counts)
		return __libc_realloc(memory, size);
	if (!memory)
		return malloc(size);
	if (!size) {
		free(memory);
		return NULL;
	}
	uint64_t before = cost_of(memory);
	if (size > SIZE_MAX - HEADER_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	asked = size + HEADER_BYTES;
	uint64_t more = asked > before ? asked - before : 0;
	if (more && !budget_take_memory(more)) {
		errno = ENOMEM;
		return NULL;
	}
	void *grown = __libc_realloc(memory, size);
	if (!grown) {
		budget_return_memory(more);
		return NULL;
	}
	uint64_t counted = before + more, after = cost_of(grown);
	if (after < counted)
		budget_return_memory(counted - after);
	else
		budget_charge_memory(after - counted); /* growing can't be undone */
	return grown;
}

void *memalign(size_t alignment, size_t size)
{
	uint64_t asked;
	if (!budget_counts)
		return __libc_memalign(alignment, size);
	return take(size, &asked) ? settle(__libc_memalign(alignment, size), asked) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	if (alignment % sizeof(void *) || alignment == 0 || alignment & (alignment - 1))
		return EINVAL;
	int before = errno;
	void *made = memalign(alignment, size);
	errno = before;
	if (!made)
		return ENOMEM;
	*memory = made;
	return 0;
}

#endif

#include "count/own_process.h"

#include <sys/mman.h>
#include <unistd.h>

void own_process_init(struct own_process *own)
{
	*own = (struct own_process){ .mark_bytes = (size_t)sysconf(_SC_PAGESIZE), .pid = getpid() };
	void *page = mmap(NULL, own->mark_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	if (madvise(page, own->mark_bytes, MADV_WIPEONFORK)) {
		munmap(page, own->mark_bytes);
		return;
	}
	own->mark = page;
	*own->mark = 1;
}

void own_process_release(struct own_process *own)
{
	if (own->mark)
		munmap((void *)own->mark, own->mark_bytes);
	*own = (struct own_process){ .mark = NULL };
}

bool own_process_asks_kernel(const struct own_process *own)
{
	return own->pid == getpid();
}

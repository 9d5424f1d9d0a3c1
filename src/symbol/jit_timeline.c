#include "symbol/jit_timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define PAGE_SHIFT	12
#define PAGE_LOADS_MOST 4096u
#define PAGES_MOST	256u /* of one function; larger ones are compared at every look-up */
#define PAGES_WIDE	4u   /* more of them are looked through within a limit */
#define ADDRESS_BITS	48
#define ADDRESS_MASK	((UINT64_C(1) << ADDRESS_BITS) - 1)
#define TAG_TOP		UINT64_C(0x8000)
#define TAG_MASK	UINT64_C(0x7fff)
#define PAGE_COST	128u /* bytes that a function takes in each page, about */
#define PAGE_FEW	4u   /* functions of a page that need no memory of their own */
#define ADD_WORK	64u  /* in comparisons: what adding any function takes */
#define PAGE_WORK	64u  /* and each page of it, which may be a new one */
#define NAME_WORK	32u  /* bytes of names that are compared, for a look */

struct page {
	uint32_t *list; /* positions; NULL: in `few` */
	size_t capacity;
	uint32_t count;
	uint32_t few[PAGE_FEW];
};

void jit_timeline_release(struct jit_timeline *timeline)
{
	size_t position = 0;
	for (struct page *page; (page = number_map_next(&timeline->pages, &position));) {
		free(page->list);
		free(page);
	}
	number_map_release(&timeline->pages);
	free(timeline->list);
	free(timeline->large);
	arena_release(&timeline->arena);
	*timeline = (struct jit_timeline){ 0 };
}

static uint64_t page_of(uint64_t address)
{
	return (address & ADDRESS_MASK) >> PAGE_SHIFT;
}

static uint64_t last_of(const struct jit_loaded *loaded)
{
	return loaded->address + (loaded->size_bytes - 1);
}

static bool overlap(const struct jit_loaded *a, const struct jit_loaded *b)
{
	return a->address <= last_of(b) && b->address <= last_of(a);
}

static bool same_place(const struct jit_loaded *a, const struct jit_loaded *b)
{
	return a->address == b->address && a->size_bytes == b->size_bytes &&
	       a->name.size == b->name.size;
}

/* How many pages it touches. */
static uint64_t page_count(const struct jit_loaded *loaded)
{
	return (last_of(loaded) >> PAGE_SHIFT) - (loaded->address >> PAGE_SHIFT) + 1;
}

static uint32_t *list_of(struct page *page)
{
	return page->list ? page->list : page->few;
}

static int put_into_page(struct page *page, uint32_t position)
{
	if (page->list || page->count == PAGE_FEW) {
		bool moves = !page->list;
		if (array_reserve(&page->list, &page->capacity, page->count, sizeof(uint32_t)) < 0)
			return -ENOMEM;
		if (moves)
			memcpy(page->list, page->few, sizeof(page->few));
	}
	list_of(page)[page->count++] = position;
	return 0;
}

static struct page *need_page(struct jit_timeline *timeline, uint64_t number)
{
	struct page *page = number_map_find(&timeline->pages, number);
	if (page)
		return page;
	page = calloc(1, sizeof(*page));
	if (page && number_map_put(&timeline->pages, number, page) < 0) {
		free(page);
		return NULL;
	}
	return page;
}

/* What may lie at an address: the lists of its page, and of large functions. */
struct candidates {
	const uint32_t *lists[2];
	size_t counts[2];
};

static struct candidates candidates_at(const struct jit_timeline *timeline, uint64_t page_number)
{
	struct page *page = number_map_find(&timeline->pages, page_number);
	return (struct candidates){ { page ? list_of(page) : NULL, timeline->large },
				    { page ? page->count : 0, timeline->large_count } };
}

/* What is already at the addresses of a function that is added. */
struct overlapped {
	const struct jit_loaded *same;	 /* the latest load of this very code, or NULL */
	const struct jit_loaded *latest; /* of any code, or NULL */
	bool any;
	uint64_t compared_bytes; /* of names */
};

/* Notes `other` where it overlaps. *tag, the top 16 bits of a vaddr for the case that the function
 * is not the first at its addresses, moves on when `other` has it. */
static void compare_with(const struct jit_loaded *loaded, const struct jit_loaded *other,
			 uint64_t *tag, struct overlapped *overlapped)
{
	if (!overlap(loaded, other))
		return;
	overlapped->any = true;
	if (!overlapped->latest || other >= overlapped->latest)
		overlapped->latest = other;
	if (same_place(loaded, other) && (!overlapped->same || other >= overlapped->same)) {
		overlapped->compared_bytes += loaded->name.size;
		if (span_equal(loaded->name, other->name))
			overlapped->same = other;
	}
	/* Another function here has this tag: try the next one. */
	if (other->vaddr >> ADDRESS_BITS == *tag)
		*tag = TAG_TOP | ((*tag + 1) & TAG_MASK);
}

/* Compares it with all functions at its addresses. Returns how many there were. */
static uint64_t compare_with_all(const struct jit_timeline *timeline,
				 const struct jit_loaded *loaded, uint64_t *tag,
				 struct overlapped *overlapped)
{
	uint64_t looks = 0;
	*overlapped = (struct overlapped){ 0 };
	if (page_count(loaded) > PAGES_MOST) {
		for (size_t i = 0; i < timeline->count; i++)
			compare_with(loaded, &timeline->list[i], tag, overlapped);
		return timeline->count;
	}
	for (uint64_t i = 0; i < page_count(loaded); i++) {
		struct candidates found =
			candidates_at(timeline, page_of(loaded->address + (i << PAGE_SHIFT)));
		looks += found.counts[0] + found.counts[1];
		for (int j = 0; j < 2; j++)
			for (size_t k = 0; k < found.counts[j]; k++)
				compare_with(loaded, &timeline->list[found.lists[j][k]], tag,
					     overlapped);
	}
	return looks;
}

/* A page that code is loaded into again and again must not become ever slower: when its list is
 * full the oldest quarter is dropped. */
static void forget_oldest(struct page *page)
{
	uint32_t gone = page->count / 4;
	page->count -= gone;
	memmove(page->list, page->list + gone, page->count * sizeof(page->list[0]));
}

/* Adds it to the lists of the pages that it touches. */
static int put_into_pages(struct jit_timeline *timeline, const struct jit_loaded *loaded,
			  uint32_t position)
{
	if (page_count(loaded) > PAGES_MOST) {
		int ret = array_reserve(&timeline->large, &timeline->large_capacity,
					timeline->large_count, sizeof(uint32_t));
		if (ret == 0)
			timeline->large[timeline->large_count++] = position;
		return ret;
	}
	for (uint64_t i = 0; i < page_count(loaded); i++) {
		struct page *page =
			need_page(timeline, page_of(loaded->address + (i << PAGE_SHIFT)));
		if (page && page->count == PAGE_LOADS_MOST)
			forget_oldest(page);
		if (!page || put_into_page(page, position) < 0)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t cost_of(const struct jit_loaded *loaded)
{
	uint64_t pages = page_count(loaded);
	return sizeof(*loaded) + loaded->name.size +
	       (pages > PAGES_MOST ? sizeof(uint32_t) : pages * PAGE_COST);
}

static bool is_wide(const struct jit_loaded *loaded)
{
	return page_count(loaded) > PAGES_WIDE;
}

static bool has_looked_enough(const struct jit_timeline *timeline, const struct jit_loaded *loaded)
{
	return is_wide(loaded) ? timeline->looks >= JIT_TIMELINE_MOST_LOOKS
			       : timeline->narrow_looks >= JIT_TIMELINE_MOST_NARROW_LOOKS;
}

/* The work of adding a function apart from comparisons: finding its pages, or making them. */
static uint64_t work_of(const struct jit_loaded *loaded)
{
	uint64_t pages = page_count(loaded);
	return ADD_WORK + loaded->name.size / NAME_WORK +
	       (pages > PAGES_MOST ? 0 : pages * PAGE_WORK);
}

static int check_room(const struct jit_timeline *timeline, const struct jit_loaded *loaded,
		      uint64_t *cost_bytes)
{
	uint64_t pages = page_count(loaded);
	*cost_bytes = cost_of(loaded);
	if ((pages > PAGES_MOST && timeline->large_count >= JIT_TIMELINE_MOST_LARGE) ||
	    has_looked_enough(timeline, loaded) ||
	    *cost_bytes > JIT_TIMELINE_MOST_BYTES - timeline->kept_bytes)
		return -EFBIG;
	return 0;
}

/* Its name is copied. */
static int append(struct jit_timeline *timeline, const struct jit_loaded *loaded,
		  uint64_t cost_bytes)
{
	struct jit_loaded added = *loaded;
	added.name.data = arena_copy_text(&timeline->arena, loaded->name.data, loaded->name.size);
	if (!added.name.data || array_reserve(&timeline->list, &timeline->capacity, timeline->count,
					      sizeof(*timeline->list)) < 0)
		return -ENOMEM;
	timeline->list[timeline->count] = added;
	timeline->unordered |= added.time_ns < timeline->latest_ns;
	timeline->latest_ns = added.time_ns;
	timeline->kept_bytes += cost_bytes;
	/* When memory runs out it may be in some of the lists alone, which does no harm. */
	return put_into_pages(timeline, &added, (uint32_t)timeline->count++);
}

int jit_timeline_add(struct jit_timeline *timeline, const struct jit_loaded *loaded)
{
	if (!loaded->size_bytes ||
	    loaded->size_bytes - 1 > ADDRESS_MASK - (loaded->address & ADDRESS_MASK))
		return 0;
	uint64_t cost_bytes;
	int ret = check_room(timeline, loaded, &cost_bytes);
	timeline->work += ret < 0 ? ADD_WORK : work_of(loaded);
	if (ret < 0)
		return ret;
	uint64_t tag =
		TAG_TOP |
		((hash_bytes_stable(loaded->name.data, loaded->name.size) + loaded->size_bytes) &
		 TAG_MASK);
	struct overlapped overlapped;
	uint64_t looks = compare_with_all(timeline, loaded, &tag, &overlapped);
	*(is_wide(loaded) ? &timeline->looks : &timeline->narrow_looks) += looks;
	timeline->work += looks + overlapped.compared_bytes / NAME_WORK;
	if (overlapped.same && overlapped.same == overlapped.latest)
		return 0;
	struct jit_loaded added = *loaded;
	added.sampled = false;
	added.vaddr = overlapped.same  ? overlapped.same->vaddr
		      : overlapped.any ? tag << ADDRESS_BITS | (loaded->address & ADDRESS_MASK)
				       : loaded->address;
	return append(timeline, &added, cost_bytes);
}

/* Whether `candidate` is nearer to the time than `best`. */
static bool is_nearer(const struct jit_loaded *candidate, const struct jit_loaded *best,
		      uint64_t time_ns)
{
	if (!best)
		return true;
	bool in_force = candidate->time_ns <= time_ns;
	if (best->time_ns > time_ns)
		return in_force || candidate->time_ns < best->time_ns ||
		       (candidate->time_ns == best->time_ns && candidate < best);
	return in_force && (candidate->time_ns > best->time_ns ||
			    (candidate->time_ns == best->time_ns && candidate > best));
}

/* Looks at the newest first: where all were added in the order of their times, the first one that
 * was loaded by then is the latest. */
static const struct jit_loaded *find(const struct jit_timeline *timeline, uint64_t address,
				     uint64_t time_ns, uint64_t *looks)
{
	const struct jit_loaded *best = NULL;
	struct candidates found = candidates_at(timeline, page_of(address));
	for (int j = 0; j < 2; j++)
		for (size_t k = found.counts[j]; k-- > 0;) {
			const struct jit_loaded *loaded = &timeline->list[found.lists[j][k]];
			++*looks;
			if (address < loaded->address || address > last_of(loaded))
				continue;
			if (is_nearer(loaded, best, time_ns))
				best = loaded;
			if (!timeline->unordered && loaded->time_ns <= time_ns)
				break;
		}
	return best;
}

const struct jit_loaded *jit_timeline_find(const struct jit_timeline *timeline, uint64_t address,
					   uint64_t time_ns)
{
	uint64_t looks = 0;
	return find(timeline, address, time_ns, &looks);
}

const struct jit_loaded *jit_timeline_at(const struct jit_timeline *timeline, uint64_t vaddr)
{
	struct candidates found = candidates_at(timeline, page_of(vaddr));
	for (int j = 0; j < 2; j++)
		for (size_t k = 0; k < found.counts[j]; k++) {
			const struct jit_loaded *loaded = &timeline->list[found.lists[j][k]];
			if (vaddr >= loaded->vaddr && vaddr - loaded->vaddr < loaded->size_bytes)
				return loaded;
		}
	return NULL;
}

uint64_t jit_timeline_vaddr(struct jit_timeline *timeline, uint64_t address, uint64_t time_ns)
{
	const struct jit_loaded *loaded = find(timeline, address, time_ns, &timeline->work);
	if (!loaded)
		return address;
	timeline->list[loaded - timeline->list].sampled = true;
	return loaded->vaddr + (address - loaded->address);
}

uint64_t jit_timeline_bytes(const struct jit_timeline *timeline)
{
	return timeline->kept_bytes +
	       (timeline->capacity - timeline->count) * sizeof(*timeline->list);
}

/* Marks which functions stay, of those that are sampled or of the others, the newest first. */
static void choose(const struct jit_timeline *timeline, bool sampled, uint64_t *left_bytes,
		   bool *stays)
{
	for (size_t i = timeline->count; i-- > 0;) {
		const struct jit_loaded *loaded = &timeline->list[i];
		uint64_t cost_bytes = cost_of(loaded);
		if (loaded->sampled != sampled)
			continue;
		if (cost_bytes > *left_bytes)
			return;
		*left_bytes -= cost_bytes;
		stays[i] = true;
	}
}

int jit_timeline_trim(struct jit_timeline *timeline, uint64_t keep_bytes, uint64_t *dropped)
{
	struct jit_timeline kept = { .looks = timeline->looks,
				     .narrow_looks = timeline->narrow_looks,
				     .work = timeline->work };
	bool *stays = calloc(timeline->count + 1, sizeof(*stays));
	int ret = stays ? 0 : -ENOMEM;
	if (ret == 0) {
		choose(timeline, true, &keep_bytes, stays);
		choose(timeline, false, &keep_bytes, stays);
	}
	for (size_t i = 0; i < timeline->count && ret == 0; i++)
		if (stays[i])
			ret = append(&kept, &timeline->list[i], cost_of(&timeline->list[i]));
	free(stays);
	if (ret < 0) {
		jit_timeline_release(&kept);
		return ret;
	}
	*dropped += timeline->count - kept.count;
	jit_timeline_release(timeline);
	*timeline = kept;
	return 0;
}

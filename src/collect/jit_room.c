#include "collect/jit_private.h"

#include <errno.h>
#include <inttypes.h>

#include "collect/shares.h"
#include "symbol/helper_process.h"

#define READ_STEP_BYTES	     (1u << 20) /* of a file at once */
#define STRANGE_STEP_BYTES   (256u << 10)
#define STRANGE_RECORD_BYTES (1u << 20)
#define TRIM_LEAST_BYTES     65536u

bool jit_is_strange(const struct jit *jit)
{
	return jit->share && jit->share->strange;
}

uint64_t jit_step_bytes(const struct jit *jit)
{
	return jit_is_strange(jit) ? STRANGE_STEP_BYTES : READ_STEP_BYTES;
}

uint32_t jit_most_record_bytes(const struct jit *jit)
{
	return jit_is_strange(jit) ? STRANGE_RECORD_BYTES : 0;
}

bool jit_may_go_on(const struct jit_table *table, const struct jit *jit)
{
	const struct helper_watch *watch = table->watch;
	if (watch && watch->look && watch->look(watch->context) < 0)
		return false;
	return !jit_is_strange(jit) || shares_time_left_ns(table->shares) > 0;
}

static uint64_t bytes_of(const struct jit *jit)
{
	uint64_t sum = jit_timeline_bytes(&jit->timeline);
	for (size_t i = 0; i < jit->dump_count; i++)
		sum += jitdump_bytes(&jit->dumps[i].dump);
	return sum;
}

void jit_count_kept(struct jit_table *table, struct jit *jit)
{
	uint64_t bytes = bytes_of(jit);
	table->kept_bytes += bytes - jit->counted_bytes;
	jit->counted_bytes = bytes;
}

struct error *jit_refusal_of_content(struct jit *jit)
{
	jit->refused_open = false;
	return &jit->refused;
}

bool jit_has_room(struct jit_table *table, struct jit *jit)
{
	jit_count_kept(table, jit);
	if (table->kept_bytes < table->most_bytes)
		return true;
	error_set(jit_refusal_of_content(jit), -EFBIG,
		  "the processes tell of more code than the %" PRIu64 " MB that are kept",
		  table->most_bytes >> 20);
	return false;
}

bool jit_count_bytes(struct jit_table *table, struct jit *jit)
{
	jit_count_kept(table, jit);
	uint64_t bytes = jit->counted_bytes;
	if (!jit_is_strange(jit))
		return true;
	if (bytes <= jit->held_bytes)
		share_give_back(table->shares, jit->share, SHARE_JIT_BYTES,
				jit->held_bytes - bytes);
	else if (!share_take(table->shares, jit->share, SHARE_JIT_BYTES, bytes - jit->held_bytes))
		return false;
	jit->held_bytes = bytes;
	return true;
}

int jit_keep_within_share(struct jit_table *table, struct jit *jit)
{
	if (jit_count_bytes(table, jit))
		return 0;
	for (size_t i = 0; i < jit->dump_count; i++) {
		if (jit->dumps[i].taken < jit->dumps[i].dump.count)
			continue; /* of others the timeline has the names already */
		jitdump_forget(&jit->dumps[i].dump);
		jit->dumps[i].taken = 0;
	}
	uint64_t keep_bytes =
		jit->held_bytes > 2 * TRIM_LEAST_BYTES ? jit->held_bytes / 2 : TRIM_LEAST_BYTES;
	int ret = jit_timeline_trim(&jit->timeline, keep_bytes, &jit->dropped);
	if (ret < 0 || jit_count_bytes(table, jit))
		return ret;
	/* Others of its user have it all. */
	for (size_t i = 0; i < jit->dump_count; i++) {
		jitdump_release(&jit->dumps[i].dump);
		jit->dumps[i].dump.failed = true;
		jit->dumps[i].taken = 0;
	}
	ret = jit_timeline_trim(&jit->timeline, 0, &jit->dropped);
	jit_count_bytes(table, jit);
	return ret;
}

int jit_add_loaded(struct jit *jit, const struct jit_loaded *loaded)
{
	int ret = jit_timeline_add(&jit->timeline, loaded);
	if (ret == -EFBIG && !jit->refused.code)
		error_set(jit_refusal_of_content(jit), -EFBIG,
			  "its compiler told of more code than is kept");
	return ret == -EFBIG ? 0 : ret;
}

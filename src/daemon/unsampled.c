#include "daemon/unsampled.h"

#include <string.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "store/database_end.h"

struct unsampled unsampled_after(const struct database_end *end, const char *boot_id,
				 uint64_t now_ns, uint64_t boot_ns)
{
	if (!end->known || end->in_order)
		return (struct unsampled){ 0 };
	struct unsampled out = { .any = true, .at_ns = boot_ns };
	bool is_another_boot = end->boot_id[0] && boot_id[0] && strcmp(end->boot_id, boot_id) != 0;
	if (now_ns < end->end_ns)
		return out;
	out.ns = now_ns - end->end_ns;
	out.known = is_another_boot || out.ns <= boot_ns;
	if (out.ns > boot_ns)
		out.ns = boot_ns;
	return out;
}

int unsampled_since_last(const char *database, const char *host, struct unsampled *out,
			 struct error *err)
{
	struct database_end end;
	char boot_id[BOOT_ID_SIZE];
	boot_id_read(boot_id);
	uint64_t boot_ns = clock_boot_ns(), now_ns = clock_realtime_ns();
	int ret = database_last_end(database, host, boot_id, now_ns, &end, err);
	*out = (struct unsampled){ 0 };
	if (ret == 0)
		*out = unsampled_after(&end, boot_id, now_ns, boot_ns);
	return ret;
}

struct unsampled unsampled_since(uint64_t since_ns)
{
	uint64_t now_ns = clock_boot_ns();
	return (struct unsampled){
		.any = true, .known = true, .ns = now_ns - since_ns, .at_ns = now_ns
	};
}

uint64_t unsampled_now_ns(const struct unsampled *unsampled)
{
	return unsampled->any && unsampled->known
		       ? unsampled->ns + (clock_boot_ns() - unsampled->at_ns)
		       : 0;
}

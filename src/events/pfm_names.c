#include "events/pfm_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/error.h"

static bool pfm_ready(void)
{
	/* pfm_initialize() counts nothing and does its work once; calling it again is free. */
	return pfm_initialize() == PFM_SUCCESS;
}

static int encode(const void *names, const char *name, struct event_encoding *encoding,
		  struct error *err)
{
	(void)names; /* libpfm4's are those of the process */
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg), .idx = -1 };
	memset(&attr, 0, sizeof(attr));
	memset(encoding, 0, sizeof(*encoding));
	if (!pfm_ready())
		return error_set(err, -ENOENT, "libpfm4 knows no PMU of this machine");
	int status =
		pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
	switch (status) {
	case PFM_SUCCESS:
		break;
	case PFM_ERR_NOMEM:
		return error_set(err, -ENOMEM, "out of memory while encoding event '%s'", name);
	case PFM_ERR_NOTFOUND:
	case PFM_ERR_NOTSUPP:
	case PFM_ERR_NOINIT:
		return error_set(err, -ENOENT, "libpfm4 does not know event '%s'", name);
	default:
		return error_set(err, -EINVAL, "libpfm4 refuses event '%s': %s", name,
				 pfm_strerror(status));
	}
	encoding->type = attr.type;
	encoding->config = attr.config;
	encoding->config1 = attr.config1;
	encoding->config2 = attr.config2;
	encoding->precise = attr.precise_ip;
	encoding->exclude_user = attr.exclude_user;
	encoding->exclude_kernel = attr.exclude_kernel;
	return 0;
}

struct listing {
	pfm_visit visit;
	void *context;
	struct pfm_description description;
};

static int visit_event(struct listing *listing, int index)
{
	pfm_event_info_t info = { .size = sizeof(info) };
	char name[256];
	if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
		return 0;
	listing->description.description = info.desc ? info.desc : "";
	listing->description.detail = "";
	int masks = 0;
	for (int i = 0; i < info.nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };
		if (pfm_get_event_attr_info(index, i, PFM_OS_PERF_EVENT_EXT, &attr) !=
			    PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		masks++;
		snprintf(name, sizeof(name), "%s:%s", info.name, attr.name);
		listing->description.name = name;
		listing->description.detail = attr.desc ? attr.desc : "";
		listing->description.code = info.code | attr.code;
		int status = listing->visit(listing->context, &listing->description);
		if (status)
			return status;
	}
	if (masks)
		return 0;
	listing->description.name = info.name;
	listing->description.code = info.code;
	return listing->visit(listing->context, &listing->description);
}

int pfm_event_list(bool all, pfm_visit visit, void *context)
{
	struct listing listing = { .visit = visit, .context = context };
	if (!pfm_ready())
		return 0;
	for (int p = PFM_PMU_NONE; p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
		if (pfm_get_pmu_info((pfm_pmu_t)p, &pmu) != PFM_SUCCESS ||
		    (!all && !pmu.is_present) || pmu.type == PFM_PMU_TYPE_OS_GENERIC ||
		    strcmp(pmu.name, "perf_raw") == 0)
			continue;
		listing.description.pmu = pmu.name;
		listing.description.pmu_text = pmu.desc;
		listing.description.present = pmu.is_present;
		listing.description.core = pmu.type == PFM_PMU_TYPE_CORE;
		for (int i = pmu.first_event; i != -1; i = pfm_get_event_next(i)) {
			int status = visit_event(&listing, i);
			if (status)
				return status;
		}
	}
	return 0;
}

struct names {
	event_name_visit visit;
	void *context;
};

static int visit_name(void *context, const struct pfm_description *description)
{
	const struct names *names = context;
	return names->visit(names->context, description->name);
}

static int each_name(const void *names, event_name_visit visit, void *context)
{
	(void)names;
	struct names visited = { visit, context };
	return pfm_event_list(false, visit_name, &visited);
}

const struct event_namer pfm_names = { .encode = encode, .each = each_name };

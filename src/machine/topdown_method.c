#include "machine/topdown_method.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "base/error.h"
#include "machine/cpu_model.h"
#include "machine/pmu.h"
#include "machine/topdown_table.h"
#include "topdown_tables.h"

static const struct {
	const char *name, *text;
} tables[] = {
	{ "sandy-bridge", table_sandy_bridge },
	{ "ivy-bridge", table_ivy_bridge },
	{ "haswell", table_haswell },
	{ "broadwell", table_broadwell },
	{ "skylake", table_skylake },
	{ "ice-lake", table_ice_lake },
	{ "ice-lake-events", table_ice_lake_events },
	{ "golden-cove", table_golden_cove },
	{ "golden-cove-events", table_golden_cove_events },
	{ "lion-cove", table_lion_cove },
	{ "lion-cove-events", table_lion_cove_events },
	{ "silvermont", table_silvermont },
	{ "goldmont", table_goldmont },
	{ "goldmont-plus", table_goldmont_plus },
	{ "tremont", table_tremont },
	{ "gracemont", table_gracemont },
	{ "crestmont", table_crestmont },
	{ "skymont", table_skymont },
	{ "zen4", table_zen4 },
	{ "zen5", table_zen5 },
	{ "neoverse-n1", table_neoverse_n1 },
	{ "neoverse-v1", table_neoverse_v1 },
	{ "neoverse-n2", table_neoverse_n2 },
	{ "neoverse-n2-r0p3", table_neoverse_n2_r0p3 },
	{ "neoverse-n3", table_neoverse_n3 },
	{ "neoverse-v2", table_neoverse_v2 },
	{ "neoverse-v3", table_neoverse_v3 },
};

const char *topdown_table_name(size_t index)
{
	return index < COUNT_OF(tables) ? tables[index].name : NULL;
}

struct span topdown_table_text(size_t index)
{
	return span_of_text(tables[index].text);
}

bool topdown_event_wanted(const struct topdown_event *event, unsigned level,
			  enum topdown_accuracy accuracy)
{
	return (event->level && event->level <= level) ||
	       (accuracy == TOPDOWN_CORRECTED && event->corrected_level &&
		event->corrected_level <= level);
}

void topdown_event_format(const struct topdown_event *event, const char *pmu,
			  char text[TOPDOWN_EVENT_TEXT_BYTES])
{
	snprintf(text, TOPDOWN_EVENT_TEXT_BYTES, "%s/%s/", pmu, event->terms);
}

/* Names of the PMUs of hybrid machines, from which cpu_info names its types (kernel,
 * intel_pmu_init). */
static enum topdown_core core_named(const char *name)
{
	if (strcmp(name, "cpu_core") == 0)
		return TOPDOWN_CORE_BIG;
	if (strcmp(name, "cpu_atom") == 0)
		return TOPDOWN_CORE_ATOM;
	return strcmp(name, "cpu_lowpower") == 0 ? TOPDOWN_CORE_LOW_POWER : TOPDOWN_CORE_UNKNOWN;
}

/* False when the model is not known. */
static bool describe_cpu(const struct cpu_info *info, const struct cpu_type *type,
			 const struct pmu *pmu, struct topdown_cpu *cpu)
{
	*cpu = (struct topdown_cpu){ .core = core_named(type->name) };
	if (type->midr != CPU_UNKNOWN_U64) {
		/* MIDR_EL1: implementer 31-24, variant 23-20, part 15-4, revision 3-0. */
		cpu->arm = true;
		cpu->family = type->midr >> 24 & 0xff;
		cpu->model = type->midr >> 4 & 0xfff;
		cpu->revision = (type->midr >> 20 & 0xf) << 4 | (type->midr & 0xf);
		return true;
	}
	if (type->family == CPU_UNKNOWN_U64 || type->model == CPU_UNKNOWN_U64 ||
	    strlen(info->vendor_name) >= sizeof(cpu->vendor))
		return false;
	strcpy(cpu->vendor, info->vendor_name);
	cpu->family = type->family;
	cpu->model = type->model;
	/* Where firmware turned one kind of cores off, cpu_info has one type without a name. */
	if (cpu->core == TOPDOWN_CORE_UNKNOWN && pmu)
		cpu->core = core_named(pmu->name);
	if (cpu->core == TOPDOWN_CORE_UNKNOWN && pmu && pmu_find_event(pmu, "slots"))
		cpu->core = TOPDOWN_CORE_BIG;
	return true;
}

/* Whether the PMU has all events in sysfs that the table's `needs` names. */
static bool offers(const struct pmu *pmu, struct span needs)
{
	for (struct span name; pmu && (name = topdown_word(&needs)).size;) {
		char text[64];
		if (name.size >= sizeof(text))
			return false;
		memcpy(text, name.data, name.size);
		text[name.size] = 0;
		if (!pmu_find_event(pmu, text))
			return false;
	}
	return true;
}

static size_t fallback_of(size_t table)
{
	for (size_t i = 0; i < COUNT_OF(tables); i++)
		if (span_equal(topdown_table_value(topdown_table_text(i), "fallback-of"),
			       span_of_text(tables[table].name)))
			return i;
	return COUNT_OF(tables);
}

static int no_method(const struct cpu_info *info, const struct cpu_type *type, struct error *err)
{
	char model[CPU_MODEL_ROOM] = "unknown model";
	if (type->midr != CPU_UNKNOWN_U64)
		cpu_model_of_arm(type->midr, model);
	else if (type->family != CPU_UNKNOWN_U64 && type->model != CPU_UNKNOWN_U64)
		cpu_model_of_x86(type->family, type->model,
				 type->stepping == CPU_UNKNOWN_U64 ? 0 : type->stepping, model);
	return error_set(err, -ENOENT, "no method for this CPU (%s %s%s%s)",
			 info->vendor_name[0] ? info->vendor_name : "unknown vendor", model,
			 type->name[0] ? ", " : "", type->name);
}

int topdown_method_choose(const struct cpu_info *info, const struct cpu_type *type,
			  const struct pmu *pmu, struct topdown_method *out, struct error *err)
{
	struct topdown_cpu cpu;
	size_t table = COUNT_OF(tables);
	if (!describe_cpu(info, type, pmu, &cpu))
		return no_method(info, type, err);
	for (size_t i = 0; i < COUNT_OF(tables) && table == COUNT_OF(tables); i++) {
		enum topdown_fit fit = topdown_table_fit(topdown_table_text(i), &cpu);
		if (fit == TOPDOWN_NEEDS_CORE)
			return error_set(err, -ENODATA,
					 "which of its two kinds of cores this CPU runs on is not "
					 "known: there is no PMU named cpu_core or cpu_atom");
		if (fit == TOPDOWN_FITS)
			table = i;
	}
	if (table == COUNT_OF(tables))
		return no_method(info, type, err);
	bool fallback = !offers(pmu, topdown_table_value(topdown_table_text(table), "needs"));
	if (fallback)
		table = fallback_of(table);
	if (table == COUNT_OF(tables))
		return error_set(err, -ENOENT, "PMU '%s' has none of the events for TopDown",
				 pmu->name);
	int ret = topdown_method_parse(topdown_table_text(table), tables[table].name, info->smt,
				       out, err);
	out->fallback = fallback;
	return ret;
}

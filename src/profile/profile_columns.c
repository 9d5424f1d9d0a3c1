/* The tables that this version knows, and their columns. */
#include "profile/profile_private.h"

#define KEY(name, type)                                                                            \
	{                                                                                          \
		name, type, RULE_KEY                                                               \
	}
#define CELL_COLUMNS                                                                               \
	{ "samples", COLUMN_U64, RULE_SUM }, { "estimate", COLUMN_U64, RULE_SUM },                 \
	{                                                                                          \
		"squares", COLUMN_U128, RULE_SUM                                                   \
	}

/* The order of each list is the order of the slots in profile.h, and of sorting in a file. */
static const struct column event_columns[] = {
	KEY("name", COLUMN_BYTES),  KEY("unit", COLUMN_BYTES),	    KEY("scale", COLUMN_U64),
	KEY("pmu", COLUMN_BYTES),   KEY("core_type", COLUMN_BYTES), KEY("type", COLUMN_U64),
	KEY("config", COLUMN_U64),  KEY("config1", COLUMN_U64),	    KEY("config2", COLUMN_U64),
	KEY("clock", COLUMN_U64),   KEY("policy", COLUMN_U64),	    KEY("period", COLUMN_U64),
	KEY("precise", COLUMN_U64), KEY("exclude", COLUMN_U64),	    KEY("skid", COLUMN_U64),
	KEY("origin", COLUMN_U64),  KEY("sampled", COLUMN_U64),	    KEY("leader", COLUMN_BYTES),
	KEY("apart", COLUMN_U64),
};
static const struct column image_columns[] = {
	KEY("kind", COLUMN_U64),   KEY("space", COLUMN_U64),  KEY("build_id", COLUMN_BYTES),
	KEY("hash", COLUMN_BYTES), KEY("name", COLUMN_BYTES), KEY("writer", COLUMN_U64),
};
static const struct column context_columns[] = {
	KEY("comm", COLUMN_BYTES),	  KEY("cgroup", COLUMN_BYTES),
	KEY("container", COLUMN_BYTES),	  KEY("pid", COLUMN_OPTIONAL),
	KEY("start_ns", COLUMN_OPTIONAL), KEY("tid", COLUMN_OPTIONAL),
	KEY("thread", COLUMN_BYTES),	  KEY("cpu", COLUMN_OPTIONAL),
	KEY("core_type", COLUMN_BYTES),	  KEY("labels", COLUMN_BYTES),
};
static const struct column node_columns[] = {
	KEY("parent", COLUMN_NODE), KEY("kind", COLUMN_U64),   KEY("image", COLUMN_IMAGE),
	KEY("vaddr", COLUMN_U64),   KEY("name", COLUMN_BYTES),
};
static const struct column source_columns[] = {
	KEY("host", COLUMN_BYTES),
	KEY("boot_id", COLUMN_BYTES),
	KEY("kernel", COLUMN_BYTES),
	KEY("machine", COLUMN_BYTES),
	KEY("cpu_vendor", COLUMN_BYTES),
	KEY("cpu_model", COLUMN_BYTES),
	KEY("cpu_name", COLUMN_BYTES),
	KEY("microcode", COLUMN_BYTES),
	KEY("smt", COLUMN_BYTES),
	KEY("governor", COLUMN_BYTES),
	KEY("turbo", COLUMN_BYTES),
	KEY("frequency", COLUMN_BYTES),
	KEY("hypervisor", COLUMN_BYTES),
	KEY("clock", COLUMN_BYTES),
	KEY("command", COLUMN_BYTES),
	KEY("tool", COLUMN_BYTES),
	KEY("labels", COLUMN_BYTES),
	KEY("cpus", COLUMN_U64),
	KEY("start_ns", COLUMN_U64),
	KEY("epoch", COLUMN_U64),
	{ "duration_ns", COLUMN_U64, RULE_MAX },
};
static const struct column path_columns[] = {
	KEY("image", COLUMN_IMAGE),
	KEY("path", COLUMN_BYTES),
	{ "seen", COLUMN_U64, RULE_MAX },
};
static const struct column flat_columns[] = {
	KEY("event", COLUMN_EVENT), KEY("image", COLUMN_IMAGE),	    KEY("vaddr", COLUMN_U64),
	KEY("name", COLUMN_BYTES),  KEY("context", COLUMN_CONTEXT), CELL_COLUMNS,
};
static const struct column stack_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("node", COLUMN_NODE),
	KEY("context", COLUMN_CONTEXT),
	CELL_COLUMNS,
};
static const struct column edge_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	KEY("origin", COLUMN_U64),
	KEY("from_image", COLUMN_IMAGE),
	KEY("from_vaddr", COLUMN_U64),
	KEY("from_name", COLUMN_BYTES),
	KEY("to_image", COLUMN_IMAGE),
	KEY("to_vaddr", COLUMN_U64),
	KEY("to_name", COLUMN_BYTES),
	{ "count", COLUMN_U64, RULE_SUM },
	{ "mispredicted", COLUMN_U64, RULE_SUM },
};
static const struct column range_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	KEY("origin", COLUMN_U64),
	KEY("image", COLUMN_IMAGE),
	KEY("first", COLUMN_U64),
	KEY("last", COLUMN_U64),
	{ "count", COLUMN_U64, RULE_SUM },
	{ "cycles", COLUMN_U64, RULE_SUM },
	{ "squares", COLUMN_U128, RULE_SUM },
};
static const struct column value_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	KEY("image", COLUMN_IMAGE),
	KEY("vaddr", COLUMN_U64),
	KEY("kind", COLUMN_U64),
	KEY("bucket", COLUMN_U64),
	CELL_COLUMNS,
};
static const struct column counter_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	CELL_COLUMNS,
};
static const struct column strip_columns[] = {
	KEY("second", COLUMN_U64),
	KEY("event", COLUMN_EVENT),
	KEY("context", COLUMN_CONTEXT),
	{ "samples", COLUMN_U64, RULE_SUM },
};
static const struct column bill_columns[] = {
	KEY("event", COLUMN_EVENT),
	KEY("cpu", COLUMN_OPTIONAL),
	KEY("item", COLUMN_BYTES),
	{ "amount", COLUMN_U64, RULE_SUM },
};
static const struct column stash_columns[] = {
	KEY("image", COLUMN_IMAGE), KEY("kind", COLUMN_U64),	  KEY("first", COLUMN_U64),
	KEY("last", COLUMN_U64),    KEY("content", COLUMN_BYTES),
};

#define DECLARE(name, columns)                                                                     \
	{                                                                                          \
		name, columns, sizeof(columns) / sizeof((columns)[0])                              \
	}

static const struct {
	const char *name;
	const struct column *columns;
	size_t count;
} declarations[PROFILE_KNOWN_TABLES] = {
	[PROFILE_EVENT] = DECLARE("event", event_columns),
	[PROFILE_IMAGE] = DECLARE("image", image_columns),
	[PROFILE_CONTEXT] = DECLARE("context", context_columns),
	[PROFILE_NODE] = DECLARE("node", node_columns),
	[PROFILE_SOURCE] = DECLARE("source", source_columns),
	[PROFILE_PATH] = DECLARE("path", path_columns),
	[PROFILE_FLAT] = DECLARE("flat", flat_columns),
	[PROFILE_STACK] = DECLARE("stack", stack_columns),
	[PROFILE_EDGE] = DECLARE("edge", edge_columns),
	[PROFILE_RANGE] = DECLARE("range", range_columns),
	[PROFILE_VALUE] = DECLARE("value", value_columns),
	[PROFILE_COUNTER] = DECLARE("counter", counter_columns),
	[PROFILE_STRIP] = DECLARE("strip", strip_columns),
	[PROFILE_BILL] = DECLARE("bill", bill_columns),
	[PROFILE_STASH] = DECLARE("stash", stash_columns),
};

const struct column *profile_columns(enum profile_table table, size_t *count)
{
	*count = declarations[table].count;
	return declarations[table].columns;
}

const char *profile_table_name(enum profile_table table)
{
	return declarations[table].name;
}

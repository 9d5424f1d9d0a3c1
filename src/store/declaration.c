#include "store/declaration.h"

#include <string.h>

#include "base/count_of.h"
#include "profile/profile.h"

static const char *const type_names[] = {
	[COLUMN_U64] = "u64",	      [COLUMN_OPTIONAL] = "optional", [COLUMN_U128] = "u128",
	[COLUMN_BYTES] = "bytes",     [COLUMN_EVENT] = "event",	      [COLUMN_IMAGE] = "image",
	[COLUMN_CONTEXT] = "context", [COLUMN_NODE] = "node",
};
static const char *const rule_names[] = {
	[RULE_KEY] = "key", [RULE_SUM] = "sum", [RULE_MIN] = "min",
	[RULE_MAX] = "max", [RULE_SET] = "set",
};

void declaration_put(struct buffer *out, const struct column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_printf(out, "%s%s:%s:%s", i ? "," : "", columns[i].name,
			      type_names[columns[i].type], rule_names[columns[i].rule]);
}

/* Cuts the part up to `stop` off *rest, and `stop`; all of it when `stop` is not there. */
static struct span next_part(struct span *rest, char stop)
{
	const char *end = rest->size ? memchr(rest->data, stop, rest->size) : NULL;
	size_t size = end ? (size_t)(end - (const char *)rest->data) : rest->size;
	struct span part = { rest->data, size };
	size_t used = end ? size + 1 : size;
	*rest = (struct span){ (const char *)rest->data + used, rest->size - used };
	return part;
}

static int find_name(const char *const *names, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(span_of_text(names[i]), name))
			return (int)i;
	return -1;
}

const char *declaration_parse(struct span text, struct column *columns, size_t *count)
{
	*count = 0;
	if (text.size == 0 || text.size > DECLARATION_MAX_BYTES)
		return "its declaration has no plausible length";
	while (text.size) {
		struct span column = next_part(&text, ',');
		struct span name = next_part(&column, ':');
		int type = find_name(type_names, COUNT_OF(type_names), next_part(&column, ':'));
		int rule = find_name(rule_names, COUNT_OF(rule_names), column);
		if (*count == TABLE_MAX_COLUMNS)
			return "it has too many columns";
		if (name.size >= TABLE_NAME_SIZE)
			return "a column's name is not plain";
		if (type < 0)
			return "a column has an unknown type";
		if (rule < 0)
			return "a column has an unknown merge rule";
		struct column *made = &columns[(*count)++];
		*made = (struct column){ .type = (enum column_type)type,
					 .rule = (enum column_rule)rule };
		memcpy(made->name, name.data, name.size);
	}
	return table_declaration_fault(columns, *count);
}

static int known_table(const char *name)
{
	for (int i = 0; i < PROFILE_KNOWN_TABLES; i++)
		if (strcmp(profile_table_name((enum profile_table)i), name) == 0)
			return i;
	return -1;
}

static bool refers_wrongly(int table, enum column_type type)
{
	if (!column_is_reference(type))
		return false;
	if (table == PROFILE_NODE)
		return type != COLUMN_IMAGE && type != COLUMN_NODE;
	return table >= 0 && table < PROFILE_DICTIONARIES;
}

const char *declaration_fault(const char *table, const struct column *columns, size_t count)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t length = strnlen(table, TABLE_NAME_SIZE);
	if (length == 0 || length == TABLE_NAME_SIZE || strspn(table, plain) != length)
		return "its name is not plain";
	const char *fault = table_declaration_fault(columns, count);
	if (fault)
		return fault;
	int which = known_table(table);
	size_t known_count = 0;
	const struct column *known =
		which < 0 ? NULL : profile_columns((enum profile_table)which, &known_count);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < known_count; j++)
			if (strcmp(columns[i].name, known[j].name) == 0 &&
			    (columns[i].type != known[j].type || columns[i].rule != known[j].rule))
				return "a known column is declared differently";
		if (refers_wrongly(which, columns[i].type))
			return "a dictionary refers to what comes after it";
		if (declaration_is_rows(table) && (strcmp(columns[i].name, "id") == 0 ||
						   strcmp(columns[i].name, "stable_hash") == 0))
			return "a column has a reserved name";
	}
	/* What is missing is added by the reader, and must have room. */
	size_t all = count;
	for (size_t j = 0; j < known_count; j++) {
		bool there = false;
		for (size_t i = 0; i < count; i++)
			there = there || strcmp(columns[i].name, known[j].name) == 0;
		all += !there;
	}
	return all > TABLE_MAX_COLUMNS ? "it has too many columns" : NULL;
}

bool declaration_is_named(const char *table)
{
	int which = known_table(table);
	return which == PROFILE_EVENT || which == PROFILE_IMAGE || which == PROFILE_CONTEXT;
}

bool declaration_is_rows(const char *table)
{
	return declaration_is_named(table) || known_table(table) == PROFILE_SOURCE;
}

static const char *sql_type(enum column_type type)
{
	if (type == COLUMN_BYTES)
		return "TEXT"; /* its affinity leaves BLOBs alone */
	return type == COLUMN_U128 ? "BLOB" : "INTEGER";
}

void declaration_create(struct buffer *out, const char *table, const struct column *columns,
			size_t count)
{
	buffer_printf(out, "CREATE TABLE %s(id INTEGER PRIMARY KEY", table);
	if (declaration_is_named(table))
		buffer_append_text(out, ",stable_hash BLOB");
	for (size_t i = 0; i < count; i++)
		buffer_printf(out, ",\"%s\" %s", columns[i].name, sql_type(columns[i].type));
	buffer_append_text(out, ")");
}

#include "machine/cpu.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "machine/cpu_model.h"
#include "machine/cpu_names.h"
#include "machine/cpu_parts.h"
#include "machine/machine_root.h"

#define CPUS	"sys/devices/system/cpu"
#define DEVICES "sys/bus/event_source/devices"

/* One CPU's paragraph of /proc/cpuinfo. */
struct cpuinfo_row {
	uint64_t cpu;
	uint64_t family, model, stepping, microcode;
	uint64_t implementer, variant, part, revision;
	char vendor[CPU_TEXT_SIZE];
	char model_name[CPU_TEXT_SIZE];
	enum fact hypervisor; /* unknown without a line of flags */
};

static const struct cpuinfo_row empty_row = {
	.cpu = CPU_UNKNOWN_U64,
	.family = CPU_UNKNOWN_U64,
	.model = CPU_UNKNOWN_U64,
	.stepping = CPU_UNKNOWN_U64,
	.microcode = CPU_UNKNOWN_U64,
	.implementer = CPU_UNKNOWN_U64,
	.variant = CPU_UNKNOWN_U64,
	.part = CPU_UNKNOWN_U64,
	.revision = CPU_UNKNOWN_U64,
};

static bool has_word(const char *words, size_t size, const char *word)
{
	size_t wanted = strlen(word);
	for (size_t at = 0; at < size;) {
		size_t end = at;
		while (end < size && words[end] != ' ')
			end++;
		if (end - at == wanted && memcmp(words + at, word, wanted) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

static void take_number(const char *value, size_t size, uint64_t *number)
{
	char text[32];
	uint64_t parsed;
	if (size >= sizeof(text))
		return;
	memcpy(text, value, size);
	text[size] = 0;
	if (number_parse_u64(text, &parsed))
		*number = parsed;
}

static void take_text(const char *value, size_t size, char *text)
{
	if (size >= CPU_TEXT_SIZE)
		size = CPU_TEXT_SIZE - 1;
	memcpy(text, value, size);
	text[size] = 0;
}

static void take_field(struct cpuinfo_row *row, const char *key, const char *value, size_t size)
{
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {
		{ "processor", &row->cpu },	    { "cpu family", &row->family },
		{ "model", &row->model },	    { "stepping", &row->stepping },
		{ "microcode", &row->microcode },   { "CPU implementer", &row->implementer },
		{ "CPU variant", &row->variant },   { "CPU part", &row->part },
		{ "CPU revision", &row->revision },
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(key, numbers[i].key) == 0)
			take_number(value, size, numbers[i].number);
	if (strcmp(key, "vendor_id") == 0)
		take_text(value, size, row->vendor);
	else if (strcmp(key, "model name") == 0)
		take_text(value, size, row->model_name);
	else if (strcmp(key, "flags") == 0)
		row->hypervisor = has_word(value, size, "hypervisor") ? FACT_YES : FACT_NO;
}

/* Reads the paragraph at *at and moves past it; false at the end. */
static bool take_row(const char **at, struct cpuinfo_row *row)
{
	const char *line = *at;
	bool any = false;
	*row = empty_row;
	while (*line) {
		size_t length = strcspn(line, "\n");
		const char *next = line + length + (line[length] == '\n');
		const char *colon = memchr(line, ':', length);
		if (length == 0) {
			line = next;
			if (any)
				break;
			continue;
		}
		char key[32];
		size_t key_size = colon ? (size_t)(colon - line) : 0;
		while (key_size && isspace((unsigned char)line[key_size - 1]))
			key_size--;
		if (key_size && key_size < sizeof(key)) {
			memcpy(key, line, key_size);
			key[key_size] = 0;
			const char *value = colon + 1;
			while (value < line + length && *value == ' ')
				value++;
			take_field(row, key, value, (size_t)(line + length - value));
		}
		any = true;
		line = next;
	}
	*at = line;
	return any;
}

static uint64_t row_midr(const struct machine_root *root, const struct cpuinfo_row *row)
{
	uint64_t midr;
	if (root_read_u64(root,
			  root_path(CPUS "/cpu%llu/regs/identification/midr_el1",
				    (unsigned long long)row->cpu)
				  .text,
			  &midr) == 0)
		return midr;
	if (row->implementer > 0xff || row->part > 0xfff || row->variant > 0xf ||
	    row->revision > 0xf)
		return CPU_UNKNOWN_U64;
	/* MIDR_EL1; architecture is 0xf on every 64-bit part. */
	return row->implementer << 24 | row->variant << 20 | UINT64_C(0xf) << 16 | row->part << 4 |
	       row->revision;
}

/* Core PMUs that list their CPUs: on hybrid machines they name the core types. */
struct named_cpus {
	const struct machine_root *root;
	struct {
		char name[CPU_TEXT_SIZE];
		struct cpu_set cpus;
	} entries[CPU_MAX_TYPES];
	size_t count;
};

static int visit_device(void *context, const char *name)
{
	struct named_cpus *named = context;
	if (named->count == CPU_MAX_TYPES || strlen(name) >= CPU_TEXT_SIZE)
		return 0;
	if (root_read_cpus(named->root, root_path(DEVICES "/%s/cpus", name).text,
			   &named->entries[named->count].cpus) == 0)
		snprintf(named->entries[named->count++].name, CPU_TEXT_SIZE, "%s", name);
	return 0;
}

static const char *type_name_of(const struct named_cpus *named, size_t cpu)
{
	for (size_t i = 0; i < named->count; i++)
		if (cpu_set_has(&named->entries[i].cpus, cpu))
			return named->entries[i].name;
	return "";
}

static struct cpu_type *find_type(struct cpu_info *info, const char *name,
				  const struct cpuinfo_row *row, uint64_t midr)
{
	for (size_t i = 0; i < info->type_count; i++) {
		struct cpu_type *type = &info->types[i];
		if (strcmp(type->name, name) == 0 && type->family == row->family &&
		    type->model == row->model && type->stepping == row->stepping &&
		    type->midr == midr)
			return type;
	}
	if (info->type_count == CPU_MAX_TYPES) {
		info->types_left_out = true;
		return NULL;
	}
	struct cpu_type *type = &info->types[info->type_count++];
	*type = (struct cpu_type){ .family = row->family,
				   .model = row->model,
				   .stepping = row->stepping,
				   .midr = midr,
				   .microcode = row->microcode,
				   .min_hz = CPU_UNKNOWN_U64,
				   .max_hz = CPU_UNKNOWN_U64,
				   .base_hz = CPU_UNKNOWN_U64 };
	snprintf(type->name, sizeof(type->name), "%s", name);
	const char *part = midr == CPU_UNKNOWN_U64 ? NULL : midr_part_name(midr);
	snprintf(type->model_name, sizeof(type->model_name), "%s", part ? part : row->model_name);
	return type;
}

static void set_vendor(struct cpu_info *info, const struct cpuinfo_row *row, uint64_t midr)
{
	if (midr != CPU_UNKNOWN_U64) {
		const char *name = midr_implementer_name(midr);
		info->vendor = CPU_VENDOR_ARM;
		snprintf(info->architecture, sizeof(info->architecture), "aarch64");
		if (name)
			snprintf(info->vendor_name, sizeof(info->vendor_name), "%s", name);
		else
			snprintf(info->vendor_name, sizeof(info->vendor_name), "implementer 0x%llx",
				 (unsigned long long)(midr >> 24 & 0xff));
		return;
	}
	if (!row->vendor[0])
		return;
	snprintf(info->architecture, sizeof(info->architecture), "x86_64");
	snprintf(info->vendor_name, sizeof(info->vendor_name), "%s", row->vendor);
	if (strcmp(row->vendor, "GenuineIntel") == 0)
		info->vendor = CPU_VENDOR_INTEL;
	else if (strcmp(row->vendor, "AuthenticAMD") == 0)
		info->vendor = CPU_VENDOR_AMD;
	else if (strcmp(row->vendor, "HygonGenuine") == 0)
		info->vendor = CPU_VENDOR_HYGON;
}

static void name_arm_types(struct cpu_info *info)
{
	for (size_t i = 0; i < info->type_count; i++) {
		struct cpu_type *type = &info->types[i];
		if (info->type_count == 1)
			type->name[0] = 0;
		if (info->type_count == 1 || type->name[0])
			continue;
		if (type->model_name[0]) {
			snprintf(type->name, sizeof(type->name), "%s", type->model_name);
			for (char *letter = type->name; *letter; letter++)
				*letter = (char)tolower((unsigned char)*letter);
		} else {
			snprintf(type->name, sizeof(type->name), "type %zu", i);
		}
	}
}

/* Returns whether cpuinfo's flags name a hypervisor. */
static enum fact read_types(const struct machine_root *root, const struct named_cpus *named,
			    struct cpu_info *info)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	struct cpuinfo_row row;
	enum fact hypervisor = FACT_UNKNOWN;
	root_read_text(root, "proc/cpuinfo", &text);
	const char *at = buffer_text(&text);
	while (take_row(&at, &row)) {
		if (row.cpu >= CPU_SET_LIMIT)
			continue;
		uint64_t midr = row_midr(root, &row);
		if (hypervisor != FACT_YES && row.hypervisor != FACT_UNKNOWN)
			hypervisor = row.hypervisor;
		if (info->vendor == CPU_VENDOR_UNKNOWN)
			set_vendor(info, &row, midr);
		struct cpu_type *type = find_type(
			info, named->count > 1 ? type_name_of(named, row.cpu) : "", &row, midr);
		if (!type)
			continue;
		cpu_set_add(&type->cpus, row.cpu);
		/* CPUs that came online late may run another update: no type claims more than the
		   lowest. */
		if (row.microcode < type->microcode)
			type->microcode = row.microcode;
	}
	if (info->type_count == 0) {
		struct cpuinfo_row nothing = empty_row;
		struct cpu_type *type = find_type(info, "", &nothing, CPU_UNKNOWN_U64);
		type->cpus = info->online;
	}
	name_arm_types(info);
	return hypervisor;
}

static void read_smt(const struct machine_root *root, struct cpu_info *info)
{
	uint64_t active;
	struct cpu_set siblings;
	root_read_line(root, CPUS "/smt/control", info->smt_text, sizeof(info->smt_text));
	if (root_read_u64(root, CPUS "/smt/active", &active) == 0) {
		info->smt = active ? FACT_YES : FACT_NO;
		return;
	}
	if (root_read_cpus(root, CPUS "/cpu0/topology/thread_siblings_list", &siblings) == 0)
		info->smt = cpu_set_count(&siblings) > 1 ? FACT_YES : FACT_NO;
}

void cpu_info_read(const struct machine_root *root, struct cpu_info *info)
{
	struct cpu_set nodes;
	struct utsname name;
	memset(info, 0, sizeof(*info));
	info->nodes = CPU_UNKNOWN_U64;
	struct named_cpus *named = calloc(1, sizeof(*named));
	root_read_cpus(root, CPUS "/online", &info->online);
	root_read_cpus(root, CPUS "/possible", &info->possible);
	if (root_read_cpus(root, "sys/devices/system/node/online", &nodes) == 0)
		info->nodes = cpu_set_count(&nodes);
	struct named_cpus none = { .count = 0 };
	if (named) {
		named->root = root;
		root_list(root, DEVICES, visit_device, named);
	}
	enum fact flagged = read_types(root, named ? named : &none, info);
	free(named);
	if (root->live && uname(&name) == 0)
		snprintf(info->architecture, sizeof(info->architecture), "%.*s",
			 (int)sizeof(info->architecture) - 1, name.machine);
	read_smt(root, info);
	cpu_info_read_frequency(root, info);
	cpu_info_read_platform(root, flagged, info);
}

/* Joins what differs by ", "; `part` is one type's text. */
static void join(char *text, size_t size, const char *part)
{
	size_t length = strlen(text), wanted = strlen(part);
	if (!wanted || strstr(text, part) || length + wanted + 3 > size)
		return;
	snprintf(text + length, size - length, "%s%s", length ? ", " : "", part);
}

void cpu_info_format_model(const struct cpu_info *info, char *text, size_t size)
{
	text[0] = 0;
	for (size_t i = 0; i < info->type_count; i++) {
		const struct cpu_type *type = &info->types[i];
		char part[CPU_MODEL_ROOM] = "";
		if (type->midr != CPU_UNKNOWN_U64)
			cpu_model_of_arm(type->midr, part);
		else if (type->family != CPU_UNKNOWN_U64 && type->model != CPU_UNKNOWN_U64 &&
			 type->stepping != CPU_UNKNOWN_U64)
			cpu_model_of_x86(type->family, type->model, type->stepping, part);
		join(text, size, part);
	}
	if (!text[0])
		snprintf(text, size, "unknown");
}

void cpu_info_format_microcode(const struct cpu_info *info, char *text, size_t size)
{
	text[0] = 0;
	for (size_t i = 0; i < info->type_count; i++) {
		char part[32] = "";
		if (info->types[i].microcode != CPU_UNKNOWN_U64)
			snprintf(part, sizeof(part), "0x%llx",
				 (unsigned long long)info->types[i].microcode);
		join(text, size, part);
	}
}

static void format_hz(uint64_t hz, char *text, size_t size)
{
	if (hz == CPU_UNKNOWN_U64)
		snprintf(text, size, "?");
	else if (hz >= 1000000000)
		snprintf(text, size, "%.4g GHz", (double)hz / 1e9);
	else
		snprintf(text, size, "%.4g MHz", (double)hz / 1e6);
}

void cpu_info_format_frequency(const struct cpu_info *info, char *text, size_t size)
{
	text[0] = 0;
	for (size_t i = 0; i < info->type_count; i++) {
		const struct cpu_type *type = &info->types[i];
		char least[32], most[32], base[32], part[160] = "";
		format_hz(type->min_hz, least, sizeof(least));
		format_hz(type->max_hz, most, sizeof(most));
		format_hz(type->base_hz, base, sizeof(base));
		if (type->max_hz != CPU_UNKNOWN_U64)
			snprintf(part, sizeof(part), "%s to %s", least, most);
		if (type->base_hz != CPU_UNKNOWN_U64)
			snprintf(part + strlen(part), sizeof(part) - strlen(part), "%sbase %s",
				 part[0] ? ", " : "", base);
		if (part[0] && type->name[0]) {
			size_t length = strlen(part);
			snprintf(part + length, sizeof(part) - length, " (%.40s)", type->name);
		}
		join(text, size, part);
	}
}

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice/advice.h"
#include "advice/default_events.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/verbs.h"
#include "machine/event.h"
#include "machine/machine_root.h"
#include "render/text_wrap.h"

static bool json;

static const struct option options[] = {
	{ "json", 0, OPTION_FLAG, NULL, "the same as one JSON document", &json, NULL },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
};

static const struct option *doctor_options(void)
{
	return options;
}

/* All that is found out about this machine; large, so on the heap. */
struct examination {
	struct cpu_info cpu;
	struct pmu_list pmus;
	struct rights rights;
	struct machine_probe probe;
	struct perf_features features;
	struct event_list events;
	struct sample_cost cost;
	struct confinement_layers helpers;
	struct error event_error, cost_error;
	char event[256];
	char program[4096];
	struct facts facts;
	struct advice advice;
};

static void examination_free(struct examination **pointer)
{
	struct examination *examination = *pointer;
	if (!examination)
		return;
	advice_release(&examination->advice);
	event_list_release(&examination->events);
	pmu_list_release(&examination->pmus);
	free(examination);
}

/* "{cycles,instructions}": the first group; further core types repeat it. */
static void name_default(struct examination *examination)
{
	const struct event_list *events = &examination->events;
	size_t size = event_list_group_size(events, 0), length = 0;
	char *text = examination->event;
	for (size_t i = 0; i < size && length < sizeof(examination->event); i++)
		length +=
			(size_t)snprintf(text + length, sizeof(examination->event) - length, "%s%s",
					 i	    ? ","
					 : size > 1 ? "{"
						    : "",
					 events->events[i].name);
	if (size > 1 && length < sizeof(examination->event) - 1)
		snprintf(text + length, sizeof(examination->event) - length, "}");
}

static void find_program(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	if (length > 0)
		path[length] = 0;
	else
		snprintf(path, size, "$(command -v culprit)");
}

static int examine(struct examination *examination, struct error *err)
{
	struct machine_root root;
	int why_not_cycles;
	int status = machine_root_open("/", &root, err);
	if (status)
		return status;
	cpu_info_read(&root, &examination->cpu);
	rights_read(&root, &examination->rights);
	/* Without the folder there are no PMUs to tell of; the probes say what opens. */
	status = pmu_list_read(&root, &examination->pmus, err);
	machine_root_close(&root);
	if (status == -ENOMEM)
		return status;
	machine_probe_run(&examination->cpu, &examination->pmus, &examination->probe);
	perf_features_probe(&examination->features);
	confinement_layers_read(&examination->helpers);
	find_program(examination->program, sizeof(examination->program));
	struct facts *facts = &examination->facts;
	*facts = (struct facts){ .cpu = &examination->cpu,
				 .pmus = &examination->pmus,
				 .rights = &examination->rights,
				 .probe = &examination->probe,
				 .features = &examination->features,
				 .helpers = &examination->helpers,
				 .program = examination->program };
	if (event_list_default(&examination->events, &examination->pmus, &why_not_cycles,
			       &examination->event_error)) {
		facts->event_refusal = examination->event_error.text;
		facts->cost_refusal = "cannot be seen while no event opens";
		return advice_give(facts, &examination->advice);
	}
	name_default(examination);
	facts->event = examination->event;
	if (sample_cost_measure(&examination->events.events[0], examination->rights.max_sample_rate,
				NULL, &examination->cost, &examination->cost_error))
		facts->cost_refusal = examination->cost_error.text;
	else
		facts->cost = &examination->cost;
	return advice_give(facts, &examination->advice);
}

/* Words after `before`, further lines under the first word. */
static void put_wrapped(const char *before, const char *text, struct buffer *out)
{
	buffer_append_text(out, before);
	text_append_wrapped(strlen(before), text, out);
}

static void put_findings(const struct advice *advice, enum finding_state state, struct buffer *out)
{
	char mark[16];
	snprintf(mark, sizeof(mark), "%-8s", finding_state_name(state));
	for (size_t i = 0; i < advice->count; i++) {
		const struct finding *finding = &advice->findings[i];
		if (finding->state != state)
			continue;
		put_wrapped(mark, finding->what, out);
		if (finding->means[0])
			put_wrapped("        costs: ", finding->means, out);
		/* Never broken: it is there to be copied. */
		if (finding->cure[0])
			buffer_printf(out, "        cure:  %s\n", finding->cure);
	}
}

static void print_text(const struct advice *advice)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	put_wrapped("", advice->verdict, &page);
	buffer_append_u8(&page, '\n');
	put_findings(advice, FINDING_STOP, &page);
	put_findings(advice, FINDING_LIMIT, &page);
	put_findings(advice, FINDING_UNKNOWN, &page);
	put_findings(advice, FINDING_OK, &page);
	page_write(&page, PAGE_TEXT);
}

static struct json_object *text_or_null(const char *text)
{
	return text && text[0] ? json_object_new_string(text) : NULL;
}

static struct json_object *u64_or_null(uint64_t value)
{
	return value == CPU_UNKNOWN_U64 ? NULL : json_object_new_uint64(value);
}

static struct json_object *fact_or_null(enum fact fact)
{
	return fact == FACT_UNKNOWN ? NULL : json_object_new_boolean(fact == FACT_YES);
}

static struct json_object *number_or_null(int64_t value)
{
	return value == RIGHTS_UNKNOWN ? NULL : json_object_new_int64(value);
}

static struct json_object *cpus_or_null(const struct cpu_set *cpus)
{
	char text[1024];
	cpu_set_format(cpus, text, sizeof(text));
	return text_or_null(text);
}

static struct json_object *machine_json(const struct cpu_info *cpu)
{
	struct json_object *machine = json_object_new_object();
	struct json_object *types = json_object_new_array();
	json_object_object_add(machine, "architecture", text_or_null(cpu->architecture));
	json_object_object_add(machine, "vendor", text_or_null(cpu->vendor_name));
	for (size_t i = 0; i < cpu->type_count; i++) {
		const struct cpu_type *type = &cpu->types[i];
		struct json_object *row = json_object_new_object();
		json_object_object_add(row, "name", text_or_null(type->name));
		json_object_object_add(row, "model_name", text_or_null(type->model_name));
		json_object_object_add(row, "cpus", cpus_or_null(&type->cpus));
		json_object_object_add(row, "family", u64_or_null(type->family));
		json_object_object_add(row, "model", u64_or_null(type->model));
		json_object_object_add(row, "stepping", u64_or_null(type->stepping));
		json_object_object_add(row, "midr", u64_or_null(type->midr));
		json_object_object_add(row, "microcode", u64_or_null(type->microcode));
		json_object_object_add(row, "min_hz", u64_or_null(type->min_hz));
		json_object_object_add(row, "base_hz", u64_or_null(type->base_hz));
		json_object_object_add(row, "max_hz", u64_or_null(type->max_hz));
		json_object_array_add(types, row);
	}
	json_object_object_add(machine, "core_types", types);
	json_object_object_add(machine, "online_cpus", cpus_or_null(&cpu->online));
	json_object_object_add(machine, "possible_cpus", cpus_or_null(&cpu->possible));
	json_object_object_add(machine, "numa_nodes", u64_or_null(cpu->nodes));
	json_object_object_add(machine, "smt", fact_or_null(cpu->smt));
	json_object_object_add(machine, "governor", text_or_null(cpu->governor));
	json_object_object_add(machine, "turbo", fact_or_null(cpu->boost));
	json_object_object_add(machine, "virtual", fact_or_null(cpu->virtual_machine));
	json_object_object_add(machine, "hypervisor", text_or_null(cpu->hypervisor));
	json_object_object_add(machine, "product", text_or_null(cpu->product));
	json_object_object_add(machine, "container", text_or_null(cpu->container));
	return machine;
}

static struct json_object *rights_json(const struct rights *rights)
{
	struct json_object *all = json_object_new_object();
	for (size_t i = 0; i < RIGHT_COUNT; i++)
		json_object_object_add(all, right_name(i), fact_or_null(rights->has[i]));
	json_object_object_add(all, "user_namespace", fact_or_null(rights->user_namespace));
	json_object_object_add(all, "no_new_privileges", fact_or_null(rights->no_new_privileges));
	json_object_object_add(all, "seccomp_mode", number_or_null(rights->seccomp_mode));
	json_object_object_add(all, "perf_event_paranoid", number_or_null(rights->paranoid));
	json_object_object_add(all, "kptr_restrict", number_or_null(rights->kptr_restrict));
	json_object_object_add(all, "nmi_watchdog", number_or_null(rights->nmi_watchdog));
	json_object_object_add(all, "max_sample_rate_hz", number_or_null(rights->max_sample_rate));
	json_object_object_add(all, "max_stack_frames", number_or_null(rights->max_stack));
	json_object_object_add(all, "mlock_kib", number_or_null(rights->mlock_kb));
	json_object_object_add(all, "memlock_bytes", number_or_null(rights->memlock_bytes));
	return all;
}

static struct json_object *cost_json(const struct sample_cost *cost)
{
	if (!cost)
		return NULL;
	struct json_object *all = json_object_new_object();
	json_object_object_add(all, "median_ns", json_object_new_int64((int64_t)(cost->ns + 0.5)));
	json_object_object_add(all, "low_ns", json_object_new_int64((int64_t)(cost->low_ns + 0.5)));
	json_object_object_add(all, "high_ns",
			       json_object_new_int64((int64_t)(cost->high_ns + 0.5)));
	json_object_object_add(all, "samples", json_object_new_uint64(cost->samples));
	json_object_object_add(all, "one_percent_rate_hz",
			       json_object_new_uint64(sample_cost_rate(cost, 0.01)));
	return all;
}

static int print_json(const struct examination *examination)
{
	const struct advice *advice = &examination->advice;
	struct json_object *document = json_object_new_object();
	struct json_object *findings = json_object_new_array();
	for (size_t i = 0; i < advice->count; i++) {
		const struct finding *finding = &advice->findings[i];
		struct json_object *row = json_object_new_object();
		json_object_object_add(row, "key", json_object_new_string(finding->key));
		json_object_object_add(row, "state",
				       json_object_new_string(finding_state_name(finding->state)));
		json_object_object_add(row, "what", json_object_new_string(finding->what));
		json_object_object_add(row, "costs", text_or_null(finding->means));
		json_object_object_add(row, "cure", text_or_null(finding->cure));
		json_object_array_add(findings, row);
	}
	json_object_object_add(document, "schema", json_object_new_int(1));
	json_object_object_add(document, "verdict", json_object_new_string(advice->verdict));
	json_object_object_add(document, "can_record", json_object_new_boolean(advice->can_record));
	json_object_object_add(document, "default_event", text_or_null(examination->facts.event));
	json_object_object_add(document, "sample_cost", cost_json(examination->facts.cost));
	json_object_object_add(document, "counters",
			       examination->probe.counters
				       ? json_object_new_uint64(examination->probe.counters)
				       : NULL);
	json_object_object_add(document, "kernel", text_or_null(examination->rights.kernel));
	json_object_object_add(document, "machine", machine_json(&examination->cpu));
	json_object_object_add(document, "rights", rights_json(&examination->rights));
	json_object_object_add(document, "findings", findings);
	return page_json(document);
}

static int run_doctor(int argc, char **argv)
{
	int arguments = 0;
	int status = options_parse(&verb_doctor, argc, argv, OPTIONS_ANYWHERE, &arguments);
	if (status >= 0)
		return status;
	if (arguments)
		return options_misuse(&verb_doctor, "unexpected argument '%s'", argv[1]);
	CLEANUP(examination_free) struct examination *examination = calloc(1, sizeof(*examination));
	struct error err = { 0 };
	if (!examination || examine(examination, &err)) {
		message_error("%s", err.text[0] ? err.text : "out of memory");
		return 1;
	}
	status = 0;
	if (json)
		status = print_json(examination);
	else
		print_text(&examination->advice);
	return status ? status : examination->advice.can_record ? 0 : 3;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.run = run_doctor,
	.summary = "what this machine allows, what that costs, and the cure",
	.usage = "[--json]",
	.options = doctor_options,
};

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice/advice.h"
#include "advice/default_events.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_stream.h"
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
	/* Without the folder there are no PMUs to list; probes show which events open. */
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
		/* on one line, to be copied */
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

/* An empty text is null too. */
static void put_text(struct json_stream *out, const char *key, const char *text)
{
	json_stream_text(out, key, text && text[0] ? text : NULL);
}

static void put_u64(struct json_stream *out, const char *key, uint64_t value)
{
	json_stream_known(out, key, value != CPU_UNKNOWN_U64, value);
}

static void put_fact(struct json_stream *out, const char *key, enum fact fact)
{
	if (fact == FACT_UNKNOWN)
		json_stream_null(out, key);
	else
		json_stream_bool(out, key, fact == FACT_YES);
}

static void put_number(struct json_stream *out, const char *key, int64_t value)
{
	if (value == RIGHTS_UNKNOWN)
		json_stream_null(out, key);
	else
		json_stream_i64(out, key, value);
}

static void put_cpus(struct json_stream *out, const char *key, const struct cpu_set *cpus)
{
	char text[1024];
	cpu_set_format(cpus, text, sizeof(text));
	put_text(out, key, text);
}

static void put_machine(struct json_stream *out, const struct cpu_info *cpu)
{
	json_stream_open(out, "machine", '{', JSON_LINES);
	put_text(out, "architecture", cpu->architecture);
	put_text(out, "vendor", cpu->vendor_name);
	json_stream_open(out, "core_types", '[', JSON_LINES);
	for (size_t i = 0; i < cpu->type_count; i++) {
		const struct cpu_type *type = &cpu->types[i];
		json_stream_open(out, NULL, '{', JSON_LINES);
		put_text(out, "name", type->name);
		put_text(out, "model_name", type->model_name);
		put_cpus(out, "cpus", &type->cpus);
		put_u64(out, "family", type->family);
		put_u64(out, "model", type->model);
		put_u64(out, "stepping", type->stepping);
		put_u64(out, "midr", type->midr);
		put_u64(out, "microcode", type->microcode);
		put_u64(out, "min_hz", type->min_hz);
		put_u64(out, "base_hz", type->base_hz);
		put_u64(out, "max_hz", type->max_hz);
		json_stream_close(out, '}');
	}
	json_stream_close(out, ']');
	put_cpus(out, "online_cpus", &cpu->online);
	put_cpus(out, "possible_cpus", &cpu->possible);
	put_u64(out, "numa_nodes", cpu->nodes);
	put_fact(out, "smt", cpu->smt);
	put_text(out, "governor", cpu->governor);
	put_fact(out, "turbo", cpu->boost);
	put_fact(out, "virtual", cpu->virtual_machine);
	put_text(out, "hypervisor", cpu->hypervisor);
	put_text(out, "product", cpu->product);
	put_text(out, "container", cpu->container);
	json_stream_close(out, '}');
}

static void put_rights(struct json_stream *out, const struct rights *rights)
{
	json_stream_open(out, "rights", '{', JSON_LINES);
	for (size_t i = 0; i < RIGHT_COUNT; i++)
		put_fact(out, right_name(i), rights->has[i]);
	put_fact(out, "user_namespace", rights->user_namespace);
	put_fact(out, "no_new_privileges", rights->no_new_privileges);
	put_number(out, "seccomp_mode", rights->seccomp_mode);
	put_number(out, "perf_event_paranoid", rights->paranoid);
	put_number(out, "kptr_restrict", rights->kptr_restrict);
	put_number(out, "nmi_watchdog", rights->nmi_watchdog);
	put_number(out, "max_sample_rate_hz", rights->max_sample_rate);
	put_number(out, "max_stack_frames", rights->max_stack);
	put_number(out, "mlock_kib", rights->mlock_kb);
	put_number(out, "memlock_bytes", rights->memlock_bytes);
	json_stream_close(out, '}');
}

static void put_cost(struct json_stream *out, const struct sample_cost *cost)
{
	if (!cost) {
		json_stream_null(out, "sample_cost");
		return;
	}
	json_stream_open(out, "sample_cost", '{', JSON_LINES);
	json_stream_i64(out, "median_ns", (int64_t)(cost->ns + 0.5));
	json_stream_i64(out, "low_ns", (int64_t)(cost->low_ns + 0.5));
	json_stream_i64(out, "high_ns", (int64_t)(cost->high_ns + 0.5));
	json_stream_u64(out, "samples", cost->samples);
	json_stream_u64(out, "one_percent_rate_hz", sample_cost_rate(cost, 0.01));
	json_stream_close(out, '}');
}

static void put_findings_json(struct json_stream *out, const struct advice *advice)
{
	json_stream_open(out, "findings", '[', JSON_LINES);
	for (size_t i = 0; i < advice->count; i++) {
		const struct finding *finding = &advice->findings[i];
		json_stream_open(out, NULL, '{', JSON_LINES);
		json_stream_text(out, "key", finding->key);
		json_stream_text(out, "state", finding_state_name(finding->state));
		json_stream_text(out, "what", finding->what);
		put_text(out, "costs", finding->means);
		put_text(out, "cure", finding->cure);
		json_stream_close(out, '}');
	}
	json_stream_close(out, ']');
}

static int print_json(const struct examination *examination)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	const struct advice *advice = &examination->advice;
	uint64_t counters = examination->probe.counters;
	struct json_stream out = { .out = &page };
	json_stream_open(&out, NULL, '{', JSON_LINES);
	json_stream_u64(&out, "schema", 1);
	json_stream_text(&out, "verdict", advice->verdict);
	json_stream_bool(&out, "can_record", advice->can_record);
	put_text(&out, "default_event", examination->facts.event);
	put_cost(&out, examination->facts.cost);
	json_stream_known(&out, "counters", counters != 0, counters);
	put_text(&out, "kernel", examination->rights.kernel);
	put_machine(&out, &examination->cpu);
	put_rights(&out, &examination->rights);
	put_findings_json(&out, advice);
	json_stream_end(&out, '}');
	return page_write(&page, PAGE_JSON);
}

static int run_doctor(int argc, char **argv)
{
	int arguments = 0;
	int status = options_parse(&verb_doctor, argc, argv, OPTIONS_ANYWHERE, &arguments);
	if (status)
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

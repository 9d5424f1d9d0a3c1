#include "cli/daemon_status.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/json_read.h"
#include "base/number.h"
#include "base/visible_text.h"

struct status {
	struct buffer state, reason, version, database, engine;
	struct buffer events; /* their names, one after the other */
	/* NAN: not known. */
	double pid, start_ns, seconds, epoch_length_seconds, epoch_seconds, epochs_ended;
	double epochs_ended_for_memory, epochs_removed, epochs_compacted, failures, samples,
		samples_with_stacks_apart, unknown;
	double throttled, busy_percent, budget_percent, own_cpu_percent, interrupt_percent;
	double kernel_sample_ns, kernel_hit_ns, kernel_miss_ns, kernel_stack_ns, kernel_percent;
	double resident_bytes, most_resident_bytes, memory_limit_bytes, clients_refused;
	double lost_ring, lost_table, lost_damaged, lost_skipped, lost_records;
	double busiest_second_ms, longest_epoch_end_ms;
};

static void status_release(struct status *status)
{
	buffer_release(&status->state);
	buffer_release(&status->reason);
	buffer_release(&status->version);
	buffer_release(&status->database);
	buffer_release(&status->engine);
	buffer_release(&status->events);
}

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct status, name)                                               \
	}
static const struct member {
	const char *name;
	size_t offset;
} texts[] = { MEMBER(state), MEMBER(reason), MEMBER(version), MEMBER(database),
	      MEMBER(engine) },
  numbers[] = {
	  MEMBER(pid),
	  MEMBER(start_ns),
	  MEMBER(seconds),
	  MEMBER(epoch_length_seconds),
	  MEMBER(epoch_seconds),
	  MEMBER(epochs_ended),
	  MEMBER(epochs_ended_for_memory),
	  MEMBER(epochs_removed),
	  MEMBER(epochs_compacted),
	  MEMBER(failures),
	  MEMBER(samples),
	  MEMBER(samples_with_stacks_apart),
	  MEMBER(unknown),
	  MEMBER(throttled),
	  MEMBER(busy_percent),
	  MEMBER(budget_percent),
	  MEMBER(own_cpu_percent),
	  MEMBER(interrupt_percent),
	  MEMBER(kernel_sample_ns),
	  MEMBER(kernel_hit_ns),
	  MEMBER(kernel_miss_ns),
	  MEMBER(kernel_stack_ns),
	  MEMBER(kernel_percent),
	  MEMBER(resident_bytes),
	  MEMBER(most_resident_bytes),
	  MEMBER(memory_limit_bytes),
	  MEMBER(clients_refused),
	  MEMBER(busiest_second_ms),
	  MEMBER(longest_epoch_end_ms),
  },
  losses[] = {
	  { "ring", offsetof(struct status, lost_ring) },
	  { "table", offsetof(struct status, lost_table) },
	  { "damaged", offsetof(struct status, lost_damaged) },
	  { "skipped", offsetof(struct status, lost_skipped) },
	  { "records", offsetof(struct status, lost_records) },
  };

/* ---- reading */

static const struct member *find(const struct member *members, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(members[i].name, name) == 0)
			return &members[i];
	return NULL;
}

/* Null stays NAN. */
static bool read_number(struct json_reader *reader, double *value)
{
	struct span digits;
	char text[64];
	if (json_peek(reader) == 'n')
		return json_skip(reader);
	if (!json_read_number(reader, &digits) || digits.size >= sizeof(text))
		return false;
	memcpy(text, digits.data, digits.size);
	text[digits.size] = 0;
	return number_parse_double(text, value);
}

static double *number_of(struct status *status, const struct member *member)
{
	return (double *)((char *)status + member->offset);
}

static bool read_losses(struct json_reader *reader, struct status *status)
{
	CLEANUP(buffer_release) struct buffer key = { 0 };
	bool some = false;
	if (!json_enter(reader, '{'))
		return false;
	while (json_next_member(reader, &some, &key)) {
		const struct member *loss = find(losses, COUNT_OF(losses), buffer_text(&key));
		if (!(loss ? read_number(reader, number_of(status, loss)) : json_skip(reader)))
			return false;
	}
	return !reader->fault;
}

/* The names of the events, one after the other. */
static bool read_events(struct json_reader *reader, struct status *status)
{
	CLEANUP(buffer_release) struct buffer key = { 0 };
	CLEANUP(buffer_release) struct buffer name = { 0 };
	bool some = false;
	if (!json_enter(reader, '['))
		return false;
	while (json_next(reader, &some)) {
		bool member = false;
		if (!json_enter(reader, '{'))
			return false;
		while (json_next_member(reader, &member, &key)) {
			bool is_name = strcmp(buffer_text(&key), "name") == 0;
			if (!(is_name ? json_read_text(reader, &name) : json_skip(reader)))
				return false;
			if (is_name && status->events.size)
				buffer_append_text(&status->events, ", ");
			if (is_name)
				buffer_append(&status->events, name.data, name.size);
		}
	}
	return !reader->fault;
}

static bool read_member(struct json_reader *reader, const char *key, struct status *status)
{
	const struct member *text = find(texts, COUNT_OF(texts), key);
	const struct member *number = find(numbers, COUNT_OF(numbers), key);
	if (text && json_peek(reader) == '"')
		return json_read_text(reader, (struct buffer *)((char *)status + text->offset));
	if (number)
		return read_number(reader, number_of(status, number));
	if (strcmp(key, "lost") == 0)
		return read_losses(reader, status);
	if (strcmp(key, "events") == 0)
		return read_events(reader, status);
	return json_skip(reader);
}

static bool read_status(const struct buffer *json, struct status *status)
{
	CLEANUP(buffer_release) struct buffer key = { 0 };
	struct json_reader reader =
		json_reader_of((struct span){ (const char *)json->data, json->size });
	bool some = false;
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		*number_of(status, &numbers[i]) = NAN;
	for (size_t i = 0; i < COUNT_OF(losses); i++)
		*number_of(status, &losses[i]) = NAN;
	if (!json_enter(&reader, '{'))
		return false;
	while (json_next_member(&reader, &some, &key))
		if (!read_member(&reader, buffer_text(&key), status))
			return false;
	return !reader.fault && status->state.size > 0;
}

/* ---- writing */

static void put_count(struct buffer *page, double count, const char *what)
{
	if (isnan(count))
		buffer_printf(page, "- %s", what);
	else
		buffer_printf(page, "%.0f %s", count, what);
}

static void put_percent(struct buffer *page, double percent)
{
	if (isnan(percent))
		buffer_append_text(page, "-");
	else
		buffer_printf(page, "%.2f %%", percent);
}

static void put_duration(struct buffer *page, double seconds)
{
	if (isnan(seconds))
		buffer_append_text(page, "-");
	else if (seconds < 120)
		buffer_printf(page, "%.0f s", seconds);
	else if (seconds < 7200)
		buffer_printf(page, "%.0f min", seconds / 60);
	else if (seconds < 172800)
		buffer_printf(page, "%.1f h", seconds / 3600);
	else
		buffer_printf(page, "%.1f days", seconds / 86400);
}

static void put_start(struct buffer *page, double start_ns)
{
	char text[32];
	struct tm when;
	time_t seconds = (time_t)(start_ns / 1e9);
	if (isnan(start_ns) || !gmtime_r(&seconds, &when))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &when);
	buffer_printf(page, " since %s UTC", text);
}

/* Texts are what the daemon says, whoever answers in its place. */
static void put_text(struct buffer *page, const struct buffer *text)
{
	text_append_safe(page, (const char *)text->data, text->size);
}

static void put_daemon(struct buffer *page, struct status *status)
{
	buffer_append_text(page, "daemon     ");
	put_text(page, &status->state);
	buffer_append_text(page, ": version ");
	put_text(page, &status->version);
	buffer_printf(page, ", process %.0f,", status->pid);
	put_start(page, status->start_ns);
	buffer_append_text(page, " (");
	put_duration(page, status->seconds);
	buffer_append_text(page, ")\n");
	if (!status->reason.size)
		return;
	buffer_append_text(page, "           ");
	put_text(page, &status->reason);
	buffer_append_text(page, "; 'culprit ctl resume' tries again at once\n");
}

static void put_database(struct buffer *page, struct status *status)
{
	buffer_append_text(page, "database   ");
	put_text(page, &status->database);
	buffer_append_text(page, ": ");
	put_count(page, status->epochs_ended, "epochs have ended");
	if (status->epochs_ended_for_memory > 0)
		buffer_printf(page, ", %.0f of them early, for memory",
			      status->epochs_ended_for_memory);
	if (!isnan(status->epoch_seconds)) {
		buffer_append_text(page, "; this one is ");
		put_duration(page, status->epoch_seconds);
		buffer_append_text(page, " old, of ");
		put_duration(page, status->epoch_length_seconds);
	}
	if (status->epochs_removed > 0)
		buffer_printf(page, "; %.0f old ones are removed", status->epochs_removed);
	if (status->epochs_compacted > 0)
		buffer_printf(page, "; %.0f are in those of whole days", status->epochs_compacted);
	buffer_append_text(page, "\n");
}

/* What was merged so far: what came since is not in it. */
static void put_samples(struct buffer *page, struct status *status)
{
	double lost = status->lost_ring + status->lost_table + status->lost_damaged;
	if (status->events.size) {
		buffer_append_text(page, "events     ");
		put_text(page, &status->events);
		if (strcmp(buffer_text(&status->engine), "bpf") == 0)
			buffer_append_text(page, "; counted in the kernel");
		else if (strcmp(buffer_text(&status->engine), "ring") == 0)
			buffer_append_text(page, "; each sample comes through a ring");
		buffer_append_text(page, "\n");
	}
	buffer_append_text(page, "samples    ");
	put_count(page, status->samples, "stored until the last merge, ");
	put_count(page, lost, "lost");
	if (lost > 0)
		buffer_printf(page, " (ring %.0f, table %.0f, damaged %.0f)", status->lost_ring,
			      status->lost_table, status->lost_damaged);
	if (status->lost_skipped > 0)
		buffer_printf(page, ", %.0f skipped by the kernel", status->lost_skipped);
	buffer_append_text(page, ", ");
	put_count(page, status->unknown, "in unknown code");
	if (status->samples > 0)
		buffer_printf(page, " (%.3f %%)", 100 * status->unknown / status->samples);
	buffer_append_text(page, "\n");
	if (status->samples_with_stacks_apart > 0)
		buffer_printf(page, "           %.0f more have stacks\n",
			      status->samples_with_stacks_apart);
	if (status->throttled > 0)
		buffer_printf(page,
			      "           the kernel stopped events %.0f times for their rate\n",
			      status->throttled);
	if (status->lost_records > 0)
		buffer_printf(page, "           %.0f records about processes are lost\n",
			      status->lost_records);
}

/* What programs in the kernel measured of themselves. */
static void put_kernel(struct buffer *page, const struct status *status)
{
	if (isnan(status->kernel_percent))
		return;
	buffer_append_text(page, "\n           interrupt side: about");
	if (!isnan(status->kernel_sample_ns))
		buffer_printf(page, " %.0f ns a sample", status->kernel_sample_ns);
	if (!isnan(status->kernel_hit_ns) && !isnan(status->kernel_miss_ns))
		buffer_printf(page, " (%.0f where its place had an entry, %.0f where not)",
			      status->kernel_hit_ns, status->kernel_miss_ns);
	if (!isnan(status->kernel_stack_ns))
		buffer_printf(page, "%s %.0f ns a stack",
			      isnan(status->kernel_sample_ns) ? "" : " and",
			      status->kernel_stack_ns);
	buffer_append_text(page, ", 1 in 64 timed, so about ");
	put_percent(page, status->kernel_percent);
	buffer_append_text(page, " of the machine; the interrupt itself is not in it");
}

static void put_cost(struct buffer *page, const struct status *status)
{
	buffer_append_text(page, "cost       ");
	put_percent(page, status->own_cpu_percent + status->interrupt_percent);
	buffer_append_text(page, " of the machine's CPU time: ");
	put_percent(page, status->own_cpu_percent);
	buffer_append_text(page, " itself, ");
	put_percent(page, status->interrupt_percent);
	buffer_append_text(page, " its interrupts (estimated)");
	if (status->budget_percent > 0)
		buffer_printf(page, "; the budget is %g %%", status->budget_percent);
	if (status->busiest_second_ms > 0)
		buffer_printf(page, "\n           at most %.1f ms of CPU time in a second to drain",
			      status->busiest_second_ms);
	if (status->longest_epoch_end_ms > 0)
		buffer_printf(page, ", %.0f at the end of an epoch", status->longest_epoch_end_ms);
	put_kernel(page, status);
	buffer_append_text(page, "\nmachine    ");
	put_percent(page, status->busy_percent);
	buffer_append_text(page, " busy\n");
}

static void put_memory(struct buffer *page, const struct status *status)
{
	if (isnan(status->resident_bytes))
		return;
	buffer_printf(page, "memory     %.1f MB resident, helpers included; at most %.1f",
		      status->resident_bytes / 1e6, status->most_resident_bytes / 1e6);
	if (status->memory_limit_bytes > 0)
		buffer_printf(page, "; the limit is %.1f", status->memory_limit_bytes / 1e6);
	buffer_append_text(page, "\n");
}

bool daemon_status_text(const struct buffer *json, struct buffer *page)
{
	CLEANUP(status_release) struct status status = { 0 };
	if (!read_status(json, &status))
		return false;
	put_daemon(page, &status);
	put_database(page, &status);
	put_samples(page, &status);
	put_cost(page, &status);
	put_memory(page, &status);
	if (status.failures > 0)
		buffer_printf(page, "failures   %.0f recordings failed or did not begin\n",
			      status.failures);
	if (status.clients_refused > 0)
		buffer_printf(page, "clients    %.0f had no right to ask\n",
			      status.clients_refused);
	return true;
}

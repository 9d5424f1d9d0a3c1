#include "collect/source.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "base/boot_id.h"
#include "base/buffer.h"
#include "base/small_file.h"
#include "machine/cpu.h"
#include "machine/machine_root.h"
#include "profile/profile.h"

#define COMMAND_LIMIT 65536

static struct span known(const char *text)
{
	return text[0] ? span_of_text(text) : (struct span){ NULL, 0 };
}

static const char *fact_text(enum fact fact)
{
	return fact == FACT_YES ? "on" : fact == FACT_NO ? "off" : "";
}

struct source {
	struct utsname name;
	char boot_id[BOOT_ID_SIZE];
	struct cpu_info cpu;
	char model[256], microcode[256], frequency[256];
	struct buffer command;
};

const char *source_boot_id(const struct source *source)
{
	return source->boot_id;
}

void source_free(struct source *source)
{
	if (!source)
		return;
	buffer_release(&source->command);
	free(source);
}

/* Our own arguments, as /proc/self/cmdline has them: libraries do not see argv. */
static void read_command(struct buffer *command)
{
	small_file_read("/proc/self/cmdline", COMMAND_LIMIT, command);
	while (command->size && command->data[command->size - 1] == 0)
		command->size--;
	for (size_t i = 0; i < command->size; i++)
		if (command->data[i] == 0)
			command->data[i] = ' ';
}

struct source *source_new(void)
{
	struct source *source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	uname(&source->name);
	boot_id_read(source->boot_id);
	struct machine_root root;
	if (machine_root_open("/", &root, NULL) == 0) {
		cpu_info_read(&root, &source->cpu);
		machine_root_close(&root);
	}
	cpu_info_format_model(&source->cpu, source->model, sizeof(source->model));
	cpu_info_format_microcode(&source->cpu, source->microcode, sizeof(source->microcode));
	cpu_info_format_frequency(&source->cpu, source->frequency, sizeof(source->frequency));
	read_command(&source->command);
	return source;
}

int source_add(const struct source *source, const struct source_facts *facts,
	       struct profile *profile)
{
	const struct cpu_info *cpu = &source->cpu;
	struct span command_line = { NULL, 0 };
	if (source->command.size && !facts->redact)
		command_line = (struct span){ source->command.data, source->command.size };
	struct profile_source row = {
		.host = known(source->name.nodename),
		.boot_id = known(source->boot_id),
		.kernel = known(source->name.release),
		.machine = known(source->name.machine),
		.cpu_vendor = known(cpu->vendor_name),
		.cpu_model = known(source->model),
		.cpu_name = known(cpu->types[0].model_name),
		.microcode = known(source->microcode),
		.smt = known(fact_text(cpu->smt)),
		.governor = known(cpu->governor),
		.turbo = known(fact_text(cpu->boost)),
		.frequency = known(source->frequency),
		.hypervisor = known(cpu->hypervisor),
		.clock = span_of_text("monotonic"),
		.command = command_line,
		.tool = span_of_text("culprit " CULPRIT_VERSION),
		.cpus = cpu_set_count(&cpu->online),
		.start_ns = facts->start_ns,
		.epoch = facts->epoch,
		.duration_ns = facts->duration_ns,
	};
	return profile_add_source(profile, &row);
}

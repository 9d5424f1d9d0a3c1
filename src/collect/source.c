#include "collect/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"
#include "machine/cpu.h"
#include "machine/machine_root.h"
#include "profile/profile.h"

#define BOOT_ID_SIZE  40
#define COMMAND_LIMIT 65536

static struct span known(const char *text)
{
	return text[0] ? span_of_text(text) : (struct span){ NULL, 0 };
}

static const char *fact_text(enum fact fact)
{
	return fact == FACT_YES ? "on" : fact == FACT_NO ? "off" : "";
}

void source_boot_id(char *text)
{
	if (small_file_read_line("/proc/sys/kernel/random/boot_id", text, BOOT_ID_SIZE) < 0)
		text[0] = 0;
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

int source_add(struct profile *profile, const struct source_facts *facts)
{
	struct utsname name = { 0 };
	uname(&name);
	char boot_id[BOOT_ID_SIZE];
	source_boot_id(boot_id);
	CLEANUP(free_pointer) struct cpu_info *cpu = calloc(1, sizeof(*cpu));
	CLEANUP(buffer_release) struct buffer command = { 0 };
	if (!cpu)
		return -ENOMEM;
	struct machine_root root;
	if (machine_root_open("/", &root, NULL) == 0) {
		cpu_info_read(&root, cpu);
		machine_root_close(&root);
	}
	char model[256];
	char microcode[256];
	char frequency[256];
	cpu_info_format_model(cpu, model, sizeof(model));
	cpu_info_format_microcode(cpu, microcode, sizeof(microcode));
	cpu_info_format_frequency(cpu, frequency, sizeof(frequency));
	read_command(&command);
	struct profile_source source = {
		.host = known(name.nodename),
		.boot_id = known(boot_id),
		.kernel = known(name.release),
		.machine = known(name.machine),
		.cpu_vendor = known(cpu->vendor_name),
		.cpu_model = known(model),
		.cpu_name = known(cpu->types[0].model_name),
		.microcode = known(microcode),
		.smt = known(fact_text(cpu->smt)),
		.governor = known(cpu->governor),
		.turbo = known(fact_text(cpu->boost)),
		.frequency = known(frequency),
		.hypervisor = known(cpu->hypervisor),
		.clock = span_of_text("monotonic"),
		.command = (struct span){ command.size ? command.data : NULL, command.size },
		.tool = span_of_text("culprit " CULPRIT_VERSION),
		.labels = facts->labels ? span_of_text(facts->labels) : (struct span){ NULL, 0 },
		.cpus = cpu_set_count(&cpu->online),
		.start_ns = facts->start_ns,
		.epoch = facts->epoch,
		.duration_ns = facts->duration_ns,
	};
	return profile_add_source(profile, &source);
}

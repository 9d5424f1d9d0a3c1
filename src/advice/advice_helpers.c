#include <stdio.h>
#include <string.h>

#include "advice/advice_parts.h"

/* The confinement of helper processes (docs/confinement.md): what keeps a file that takes over its
 * parser from the rest of the machine. */
void advise_helpers(struct advising *advising)
{
	const struct confinement_layers *layers = advising->facts->helpers;
	char landlock[64] = "no Landlock", text[512];
	if (!layers)
		return;
	if (layers->code < 0) {
		advising_add(
			advising, "helpers", FINDING_LIMIT,
			advising_text(advising, "helper processes cannot give up their rights: %s",
				      strerror(-layers->code)),
			"no files are read: no names, no code, no stacks of importers' samples",
			"");
		return;
	}
	uint32_t missing = 0;
	for (size_t kind = 0; kind < CONFINEMENT_KINDS; kind++)
		missing |= layers->missing[kind];
	if (layers->landlock_abi)
		snprintf(landlock, sizeof(landlock), "Landlock (ABI %d)", layers->landlock_abi);
	if (missing & CONFINEMENT_FILTER) {
		confinement_missing_text(missing, text, sizeof(text));
		advising_add(advising, "helpers", FINDING_LIMIT,
			     advising_text(advising,
					   "helper processes that read strangers' files have %s",
					   text),
			     "a file that takes its parser over can make processes, and what "
			     "Landlock and its user do not keep it from",
			     "a kernel with CONFIG_SECCOMP_FILTER, and no emulator around culprit");
		return;
	}
	missing &= ~(uint32_t)CONFINEMENT_LANDLOCK; /* named already */
	if (!layers->landlock_abi)
		missing &= ~(uint32_t)(CONFINEMENT_LANDLOCK_TCP | CONFINEMENT_LANDLOCK_PEER);
	confinement_missing_text(missing, text, sizeof(text));
	advising_add(
		advising, "helpers", FINDING_OK,
		advising_text(advising,
			      "helper processes are confined: a filter of system calls (seccomp), "
			      "%s, no new privileges%s%s",
			      landlock, text[0] ? "; " : "", text),
		"", "");
}

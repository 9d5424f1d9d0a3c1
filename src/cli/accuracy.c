#include "cli/accuracy_options.h"

#include "cli/accuracy_probe.h"
#include "cli/accuracy_truth.h"
#include "cli/verbs.h"
#include "collect/breakpoints.h"

#define PROBE_LIMIT 1000000u /* executions; some ten seconds of a program's time */

static struct accuracy_options given = { .limit = PROBE_LIMIT };
static struct accuracy_truth_options truth;
static bool limit_given;

static const struct option *accuracy_options(void)
{
	static const struct option options[] = {
		{ "what to compare with", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "probe", 0, OPTION_LIST, "ADDRESS",
		  "count this instruction's executions in a run of COMMAND; up to 4", &given.probes,
		  NULL },
		{ "limit", 0, OPTION_U64, "N",
		  "let go of a probe after N executions (default 1000000)", &given.limit,
		  &limit_given },
		{ "truth", 0, OPTION_TEXT, "FILE", "counts of the same program: a callgrind.out",
		  &truth.truth, NULL },
		ACCURACY_TRUTH_OPTION_ROWS(truth),
		{ "estimates", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		INPUT_OPTION_ROWS(given.input),
		NAMING_OPTION_ROWS(given.input),
		{ "output", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "one JSON document", &given.json, NULL },
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

/* Refuses options that would have no effect. 0 or the exit status. */
static int refuse_useless(void)
{
	const char *of_truth = truth.scale		? "scale"
			       : truth.procedure	? "procedure"
			       : truth.image		? "image"
			       : truth.pipeline		? "pipeline"
			       : truth.alone		? "samples-alone"
			       : truth.procedures_given ? "procedures"
							: NULL;
	if (truth.truth && limit_given)
		return options_misuse(&verb_accuracy, "--limit goes with --probe");
	if (!truth.truth && of_truth)
		return options_misuse(&verb_accuracy, "--%s goes with --truth", of_truth);
	return 0;
}

static int run_accuracy(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_accuracy, argc, argv, OPTIONS_BEFORE_ARGUMENTS, &count);
	if (status)
		return status;
	if (truth.truth && given.probes.count)
		return options_misuse(&verb_accuracy, "--truth and --probe exclude each other");
	if (!truth.truth && !given.probes.count)
		return options_misuse(&verb_accuracy,
				      "nothing to compare with: give --truth or --probe");
	status = refuse_useless();
	if (status)
		return status;
	if (truth.truth)
		return accuracy_truth_run(&verb_accuracy, &given, &truth, argv + 1, (size_t)count);
	if (given.probes.count > BREAKPOINTS_MAX)
		return options_misuse(&verb_accuracy, "more than %d of --probe", BREAKPOINTS_MAX);
	if (!given.limit)
		return options_misuse(&verb_accuracy, "--limit needs at least 1");
	if (!count)
		return options_misuse(&verb_accuracy, "--probe needs a command to run");
	given.runs = truth.runs_given ? truth.runs : 1;
	argv[count + 1] = NULL; /* options_parse() moved the command to the front */
	return accuracy_probe(&given, argv + 1);
}

const struct verb verb_accuracy = {
	.name = "accuracy",
	.run = run_accuracy,
	.summary = "compare estimates of executions with exact counts",
	.usage = "--truth FILE [OPTIONS] [PROFILE...] | --probe ADDRESS... [-i PROFILE] [--] "
		 "COMMAND [ARGUMENTS...]",
	.pages = true,
	.options = accuracy_options,
};

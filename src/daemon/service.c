#include "daemon/service_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/heap.h"
#include "collect/collector.h"
#include "daemon/own_memory.h"
#include "profile/profile.h"
#include "profile/source_labels.h"
#include "store/epoch.h"
#include "store/profile_file.h"
#include "store/replace_file.h"

#define LOOK_NS	 UINT64_C(5000000000)  /* how often it looks after itself */
#define RETRY_NS UINT64_C(30000000000) /* until a recorder that failed is begun anew */
/* An epoch does not end for memory before this part of its length, nor before 10 s: where the limit
 * is less than what the daemon takes in any case, ending epochs would not help. */
#define EARLY_PART	12
#define EARLY_LEAST_NS	UINT64_C(10000000000)
#define UPKEEP_FIRST_NS UINT64_C(60000000000)
#define UPKEEP_NS	UINT64_C(3600000000000)
#define METRICS_NS	UINT64_C(15000000000)
#define METRICS_MODE	0644

static void say(const struct service *service, enum recorder_news kind, const char *sentence)
{
	const struct recorder_listener *listener = &service->options->listener;
	listener->say(listener->context, kind, sentence);
}

static void tell(const struct service *service, const char *state)
{
	if (service->options->tell)
		service->options->tell(service->options->listener.context, state);
}

/* Stopping is final. */
static void enter(struct service *service, enum service_state state)
{
	if (service->state == SERVICE_STOPPING)
		return;
	service->state = state;
	service->state_ns = clock_monotonic_ns();
}

/* ---- looking after itself */

static void write_metrics(struct service *service)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	struct error err = { 0 };
	if (!service->options->metrics)
		return;
	service_write_metrics(service, &text);
	int ret = buffer_failed(&text) ? error_set(&err, -ENOMEM, "out of memory for the metrics")
				       : replace_file(service->options->metrics, text.data,
						      text.size, METRICS_MODE, REPLACE_DROP, &err);
	if (ret < 0 && !service->metrics_failed)
		say(service, RECORDER_WARNING, err.text);
	service->metrics_failed = ret < 0;
}

static void note_work(struct service *service, const struct recorder_work *work)
{
	if (work->most_in_second_ns > service->most_in_second_ns)
		service->most_in_second_ns = work->most_in_second_ns;
	if (work->most_at_end_ns > service->most_at_end_ns)
		service->most_at_end_ns = work->most_at_end_ns;
}

/* Above the limit of memory the epoch ends: what it has counted is written and forgotten. */
static void keep_memory(struct service *service)
{
	const struct service_options *options = service->options;
	char sentence[200];
	struct error err;
	service->resident_bytes = own_memory_resident();
	if (service->recorder)
		note_work(service, &service->recorder->work);
	if (service->resident_bytes > service->most_resident_bytes)
		service->most_resident_bytes = service->resident_bytes;
	uint64_t early_ns = options->epoch_ns / EARLY_PART;
	early_ns = early_ns > EARLY_LEAST_NS ? early_ns : EARLY_LEAST_NS;
	if (!options->memory_bytes || service->resident_bytes <= options->memory_bytes ||
	    !service->recorder ||
	    clock_monotonic_ns() - service->recorder->epoch_begin_ns < early_ns)
		return;
	uint64_t before = service->resident_bytes;
	if (recorder_end_epoch(service->recorder, &err) < 0)
		return; /* the one before is still being written, which takes memory, too */
	heap_trim();
	service->early++;
	snprintf(sentence, sizeof(sentence),
		 "%.1f MB of memory are more than the limit of %.1f MB: the epoch has ended early",
		 (double)before / 1e6, (double)options->memory_bytes / 1e6);
	say(service, RECORDER_WARNING, sentence);
}

/* The first time a while after the start: what is old has time. */
static void look_after_database(struct service *service, uint64_t now_ns)
{
	if (upkeep_end(&service->upkeep)) {
		service->epochs_removed += service->upkeep.pruned.epochs;
		service->epochs_compacted += service->upkeep.compacted.parts;
		if (service->upkeep.trouble[0])
			say(service, RECORDER_WARNING, service->upkeep.trouble);
	}
	if (now_ns < service->upkeep_ns)
		return;
	service->upkeep_ns = now_ns + UPKEEP_NS;
	if (!upkeep_begin(&service->upkeep))
		say(service, RECORDER_WARNING, "no thread can be started: old epochs stay for now");
}

static void look_after_itself(struct service *service, uint64_t now_ns)
{
	service->look_ns = now_ns + LOOK_NS;
	look_after_database(service, now_ns);
	keep_memory(service);
	if (now_ns >= service->metrics_ns) {
		service->metrics_ns = now_ns + METRICS_NS;
		write_metrics(service);
	}
	tell(service, "WATCHDOG=1");
}

static int attendant_poll_fd(void *context)
{
	const struct service *service = context;
	return control_poll_fd(&service->control);
}

static uint64_t attendant_next_ns(void *context)
{
	const struct service *service = context;
	uint64_t next_ns = control_next_ns(&service->control);
	return next_ns < service->look_ns ? next_ns : service->look_ns;
}

static void attend(void *context)
{
	struct service *service = context;
	uint64_t now_ns = clock_monotonic_ns();
	control_serve(&service->control, now_ns);
	if (now_ns >= service->look_ns)
		look_after_itself(service, now_ns);
}

/* ---- requests */

static int not_sampling(const struct service *service, struct error *err)
{
	return error_set(err, -EAGAIN, "the daemon does not sample now: it is %s%s%s",
			 service_state_name(service->state), service->reason[0] ? ", since " : "",
			 service->reason);
}

static int answer_status(struct service *service, struct buffer *out, struct error *err)
{
	(void)err;
	service_write_status(service, out);
	return 0;
}

static int answer_metrics(struct service *service, struct buffer *out, struct error *err)
{
	(void)err;
	service_write_metrics(service, out);
	return 0;
}

static int answer_flush(struct service *service, struct buffer *out, struct error *err)
{
	(void)out;
	return service->recorder ? recorder_flush(service->recorder, err)
				 : not_sampling(service, err);
}

static int answer_epoch(struct service *service, struct buffer *out, struct error *err)
{
	(void)out;
	return service->recorder ? recorder_end_epoch(service->recorder, err)
				 : not_sampling(service, err);
}

/* The epoch that begins has the label, beside those of all. */
static int answer_labelled(struct service *service, const char *label, struct error *err)
{
	if (!source_label_is_usable(label))
		return error_set(err, -EINVAL, "a label is a text of at most %d bytes",
				 SOURCE_LABEL_MOST_BYTES);
	int ret = answer_epoch(service, NULL, err);
	return ret < 0 ? ret : epoch_label(service->recorder->epoch, span_of_text(label), err);
}

static int answer_snapshot(struct service *service, struct buffer *out, struct error *err)
{
	if (!service->recorder)
		return not_sampling(service, err);
	int ret = recorder_gather(service->recorder, err);
	return ret < 0 ? ret
		       : profile_file_encode(epoch_profile(service->recorder->epoch), out, err);
}

static int answer_pause(struct service *service, struct buffer *out, struct error *err)
{
	(void)out;
	if (service->state == SERVICE_STOPPING)
		return error_set(err, -ECANCELED, "the daemon is stopping");
	if (service->state == SERVICE_PAUSED)
		return 0;
	enter(service, SERVICE_PAUSED);
	service->reason[0] = 0;
	if (service->stalled_ns)
		service->stalled_before_ns += clock_boot_ns() - service->stalled_ns;
	service->stalled_ns = 0;
	if (service->recorder)
		recorder_ask_to_end(service->recorder);
	return 0;
}

static int answer_resume(struct service *service, struct buffer *out, struct error *err)
{
	(void)out;
	(void)err;
	if (service->state == SERVICE_PAUSED || service->state == SERVICE_WAITING) {
		enter(service, SERVICE_WAITING);
		service->state_ns = 0; /* at once */
	}
	return 0;
}

static int answer_stop(struct service *service, struct buffer *out, struct error *err)
{
	(void)out;
	(void)err;
	enter(service, SERVICE_STOPPING);
	if (service->recorder)
		recorder_ask_to_end(service->recorder);
	return 0;
}

static const struct {
	const char *name;
	enum control_rights rights;
	int (*answer)(struct service *service, struct buffer *out, struct error *err);
} requests[] = {
	{ "status", CONTROL_LOOK, answer_status },
	{ "metrics", CONTROL_LOOK, answer_metrics },
	{ "snapshot", CONTROL_LOOK, answer_snapshot },
	{ "flush", CONTROL_ALL, answer_flush },
	{ "epoch", CONTROL_ALL, answer_epoch },
	{ "pause", CONTROL_ALL, answer_pause },
	{ "resume", CONTROL_ALL, answer_resume },
	{ "stop", CONTROL_ALL, answer_stop },
	{ NULL, CONTROL_NOTHING, NULL },
};

#define LABELLED "epoch "

static int answer(void *context, const char *request, enum control_rights rights,
		  struct buffer *out, struct error *err)
{
	struct service *service = context;
	if (strncmp(request, LABELLED, strlen(LABELLED)) == 0 && rights == CONTROL_ALL)
		return answer_labelled(service, request + strlen(LABELLED), err);
	for (size_t i = 0; requests[i].name; i++) {
		if (strcmp(requests[i].name, request) != 0)
			continue;
		if (rights < requests[i].rights)
			return error_set(err, -EPERM, "'%s' is for root and the daemon's own user",
					 request);
		return requests[i].answer(service, out, err);
	}
	return error_set(err, -EINVAL, "there is no request '%.40s'", request);
}

/* ---- one recorder after the other */

/* What was not sampled before the recorder whose epoch is open, and should have been. Where that
 * cannot be known samples are taken all the same. */
static void note_unsampled(struct service *service, struct recorder *recorder)
{
	char sentence[1200];
	struct error err;
	if (service->stalled_ns || service->stalled_before_ns) {
		recorder->unsampled = unsampled_since(service->stalled_ns ? service->stalled_ns
									  : clock_boot_ns());
		recorder->unsampled.ns += service->stalled_before_ns;
	} else if (!service->continued && unsampled_since_last(recorder->output, recorder->host,
							       &recorder->unsampled, &err) < 0) {
		snprintf(sentence, sizeof(sentence),
			 "whether the recording before was cut off is not known: %s", err.text);
		say(service, RECORDER_WARNING, sentence);
	}
	service->continued = true;
}

static int open_recorder(struct service *service, struct recorder *recorder, struct error *err)
{
	const struct service_options *options = service->options;
	struct collect_options collect = *options->collect;
	*recorder = (struct recorder){
		.output = options->database,
		.epoch_ns = options->epoch_ns,
		.merge_ns = options->merge_ns,
		.persistent = true,
		.labels = options->labels,
		.label_count = options->label_count,
		.claims = true,
		.listener = options->listener,
		.attendant = { attendant_poll_fd, attendant_next_ns, attend, service },
		.watched = { .samples = WATCHED_SAMPLES_OTHERS },
		.signals = fcntl(options->signals, F_DUPFD_CLOEXEC, 3),
	};
	if (recorder->signals < 0)
		return error_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	collect.wish = recorder_wish;
	collect.wish_context = recorder;
	collect.wish_fd = recorder->signals;
	int ret = recorder_open_epoch(recorder, err);
	if (ret == 0)
		note_unsampled(service, recorder);
	return ret < 0 ? ret : collector_new(&collect, &recorder->collector, err);
}

/* Samples until somebody asks for something else, or it fails. */
static void sample(struct service *service, struct recorder *recorder)
{
	enter(service, SERVICE_SAMPLING);
	service->reason[0] = 0;
	service->recorder = recorder;
	service->stalled_ns = service->stalled_before_ns = 0;
	int ret = recorder_run(recorder);
	service->recorder = NULL;
	bill_totals_join(&service->totals, &recorder->totals);
	service->epochs += recorder->epochs;
	note_work(service, &recorder->work);
	if (recorder->stop_signals)
		enter(service, SERVICE_STOPPING);
	if (service->state != SERVICE_SAMPLING)
		return;
	/* Nobody has asked for its end. */
	enter(service, SERVICE_WAITING);
	service->stalled_ns = clock_boot_ns();
	service->failures++;
	snprintf(service->reason, sizeof(service->reason), "%s",
		 ret < 0 ? "sampling failed" : "nothing is left to be sampled");
}

/* Opens a recorder and samples. 0; or the negative errno value with which it did not open. */
static int run_recorder(struct service *service, struct error *err)
{
	struct recorder recorder;
	int ret = open_recorder(service, &recorder, err);
	if (ret == 0) {
		tell(service, "READY=1");
		sample(service, &recorder);
	} else {
		service->failures++;
		snprintf(service->reason, sizeof(service->reason), "%.*s",
			 (int)sizeof(service->reason) - 1, err->text);
		enter(service, recorder.stop_signals ? SERVICE_STOPPING : SERVICE_WAITING);
		if (!service->stalled_ns)
			service->stalled_ns = clock_boot_ns();
	}
	recorder_release(&recorder);
	return ret;
}

static void read_signals(struct service *service)
{
	struct signalfd_siginfo info;
	while (read(service->options->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			enter(service, SERVICE_STOPPING);
}

static uint64_t retry_ns(const struct service *service)
{
	if (service->state != SERVICE_WAITING)
		return UINT64_MAX;
	return service->state_ns ? service->state_ns + RETRY_NS : 0;
}

/* Answers clients until it is time to sample again, or to stop. 0 or a negative errno. */
static int wait_to_sample(struct service *service)
{
	while (service->state != SERVICE_STOPPING) {
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t next_ns = attendant_next_ns(service);
		if (now_ns >= retry_ns(service))
			return 0;
		if (retry_ns(service) < next_ns)
			next_ns = retry_ns(service);
		struct pollfd fds[] = { { service->options->signals, POLLIN, 0 },
					{ control_poll_fd(&service->control), POLLIN, 0 } };
		int timeout_ms =
			next_ns > now_ns ? (int)((next_ns - now_ns + 999999) / 1000000) : 0;
		if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
			return -errno;
		read_signals(service);
		attend(service);
	}
	return 0;
}

/* An attempt that fails is said, unless it fails as the one before. */
static void tell_attempt(struct service *service, const struct error *err, char *before,
			 size_t before_bytes)
{
	char sentence[1200];
	if (strcmp(before, err->text) == 0)
		return;
	snprintf(before, before_bytes, "%s", err->text);
	snprintf(sentence, sizeof(sentence), "cannot sample: %s; trying again every %u s",
		 err->text, (unsigned)(RETRY_NS / 1000000000u));
	say(service, RECORDER_WARNING, sentence);
}

/* Each turn samples, or waits to. 0 or a negative errno value. */
static int run(struct service *service, struct error *err)
{
	char before[sizeof(err->text)] = "";
	int ret = run_recorder(service, err);
	if (ret < 0)
		return ret; /* what does not work at the start is not waited for */
	while (service->state != SERVICE_STOPPING) {
		ret = wait_to_sample(service);
		if (ret < 0)
			return error_set(err, ret, "cannot wait: %s", strerror(-ret));
		if (service->state == SERVICE_STOPPING)
			break;
		ret = run_recorder(service, err);
		if (ret < 0)
			tell_attempt(service, err, before, sizeof(before));
		else
			before[0] = 0;
	}
	return 0;
}

int service_run(const struct service_options *options, struct error *err)
{
	struct service service = {
		.options = options,
		.start_ns = clock_realtime_ns(),
		.begin_ns = clock_monotonic_ns(),
		.control = CONTROL_NONE,
	};
	service.upkeep = (struct upkeep){ .database = options->database,
					  .older_than_ns = options->older_than_ns,
					  .most_bytes = options->most_bytes };
	service.upkeep_ns = service.begin_ns + UPKEEP_FIRST_NS;
	service.handler = (struct control_handler){ answer, &service };
	int ret = options->socket
			  ? control_open(&service.control, options->socket, &service.handler, err)
			  : 0;
	if (ret == 0)
		ret = run(&service, err);
	tell(&service, "STOPPING=1");
	control_release(&service.control);
	enter(&service, SERVICE_STOPPING);
	write_metrics(&service);
	upkeep_release(&service.upkeep);
	return ret;
}

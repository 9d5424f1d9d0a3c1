#include "import/perf_data/perf_data_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/perf_data/perf_data_types.h"

#define HEADER_BYTES sizeof(struct perf_event_header)
#define UPDATES_MAX_BYTES                                                                          \
	(4u << 20) /* of events that have not come: 64 bytes for each of PERF_EVENTS_LIMIT */
#define TRAILER_TYPES                                                                              \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static void release_names(struct number_map *names)
{
	size_t position = 0;
	for (char *name; (name = number_map_next(names, &position));)
		free(name);
	number_map_release(names);
}

void perf_events_release(struct perf_file_events *events)
{
	for (size_t i = 0; i < events->count; i++) {
		free(events->list[i].name);
		free(events->list[i].unit);
	}
	free(events->list);
	for (size_t i = 0; i < events->update_count; i++)
		free(events->updates[i].value);
	free(events->updates);
	number_map_release(&events->updates_by_id);
	number_map_release(&events->by_id);
	release_names(&events->pmus);
	release_names(&events->types);
	*events = (struct perf_file_events){ 0 };
}

/* Registers and stack bytes, or LBR call stacks, may replace the user's part of a chain. */
static enum perf_user_part user_part_of(const struct perf_event_attr *attr)
{
	uint64_t dwarf = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK &&
	    attr->branch_sample_type & PERF_BRANCH_CALL_STACK)
		return PERF_USER_BRANCHES;
	return (attr->sample_type & dwarf) == dwarf ? PERF_USER_STACK : PERF_USER_CHAIN;
}

/* Words before a field of the fixed part of a sample. */
static int words_before(uint64_t sample_type, uint64_t fields)
{
	return __builtin_popcountll(sample_type & fields);
}

static int sample_time_at(uint64_t type)
{
	if (!(type & PERF_SAMPLE_TIME))
		return -1;
	return (int)HEADER_BYTES +
	       8 * words_before(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
}

static int sample_id_at(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return (int)HEADER_BYTES;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return (int)HEADER_BYTES + 8 * words_before(type, PERF_SAMPLE_IP | PERF_SAMPLE_TID |
								  PERF_SAMPLE_TIME |
								  PERF_SAMPLE_ADDR);
}

static int trailer_time_at(uint64_t type)
{
	if (!(type & PERF_SAMPLE_TIME))
		return -1;
	return 8 * (1 + words_before(type, TRAILER_TYPES & ~(PERF_SAMPLE_TID | PERF_SAMPLE_TIME)));
}

static int trailer_id_at(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 8;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return 8 * (1 + words_before(type, PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
}

static bool same_layout(const struct perf_layout *a, const struct perf_layout *b)
{
	return a->sample_type == b->sample_type && a->sample_id_all == b->sample_id_all;
}

/* Finds where ids are in records, after an event was added. */
static void find_id_places(struct perf_file_events *events)
{
	const struct perf_layout *first = &events->list[0].layout;
	const struct perf_layout *last = &events->list[events->count - 1].layout;
	const bool is_first = events->count == 1;
	const bool identified = last->sample_type & PERF_SAMPLE_IDENTIFIER;
	events->same_layout = is_first || (events->same_layout && same_layout(first, last));
	events->all_identified = identified && (is_first || events->all_identified);
	/* All events have the id at the same place when their layouts are equal, or all have
	   PERF_SAMPLE_IDENTIFIER, which is made for that. Otherwise the first event's place is
	   tried: nothing better is known. */
	events->sample_id_at = events->trailer_id_at = -1;
	if (events->same_layout || events->all_identified ||
	    sample_id_at(first->sample_type) >= 0) {
		events->sample_id_at = sample_id_at(first->sample_type);
		events->trailer_id_at =
			first->sample_id_all ? trailer_id_at(first->sample_type) : -1;
	}
}

int perf_events_add(struct perf_file_events *events, struct span attr)
{
	if (events->count >= PERF_EVENTS_LIMIT)
		return -E2BIG;
	if (attr.size < PERF_ATTR_SIZE_VER0)
		return -EBADMSG;
	if (array_reserve(&events->list, &events->capacity, events->count, sizeof(*events->list)) <
	    0)
		return -ENOMEM;
	struct perf_file_event *event = &events->list[events->count];
	*event = (struct perf_file_event){ .leader = (uint32_t)events->count };
	size_t known = attr.size < sizeof(event->attr) ? attr.size : sizeof(event->attr);
	memcpy(&event->attr, attr.data, known);
	event->layout = (struct perf_layout){
		.sample_type = event->attr.sample_type,
		.read_format = event->attr.read_format,
		.branch_sample_type = event->attr.branch_sample_type,
		.regs_user = event->attr.sample_regs_user,
		.regs_interrupt = event->attr.sample_regs_intr,
		.sample_id_all = event->attr.sample_id_all,
	};
	event->user_part = user_part_of(&event->attr);
	events->count++;
	find_id_places(events);
	return 0;
}

uint32_t perf_events_find(const struct perf_file_events *events, uint64_t id)
{
	uintptr_t number = (uintptr_t)number_map_find(&events->by_id, id);
	return number ? (uint32_t)(number - 1) : PERF_NO_EVENT;
}

static int replace_text(char **text, struct span value)
{
	size_t size = value.size ? strnlen(value.data, value.size) : 0;
	if (!size)
		return 0;
	char *copy = strndup(value.data, size);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int perf_events_set_name(struct perf_file_event *event, struct span name)
{
	return replace_text(&event->name, name);
}

static int apply_update(struct perf_file_event *event, uint64_t type, struct span value)
{
	switch (type) {
	case PERF_UPDATE_NAME:
		return replace_text(&event->name, value);
	case PERF_UPDATE_UNIT:
		return replace_text(&event->unit, value);
	case PERF_UPDATE_SCALE:
		if (value.size >= sizeof(event->scale))
			memcpy(&event->scale, value.data, sizeof(event->scale));
		return 0;
	default: /* CPUs: samples have their own */
		return 0;
	}
}

/* Applies the updates of an id that came before its event. */
static int apply_updates(struct perf_file_events *events, struct perf_file_event *event,
			 uint64_t id)
{
	int ret = 0;
	for (uintptr_t at = (uintptr_t)number_map_remove(&events->updates_by_id, id); at;
	     at = events->updates[at - 1].previous) {
		struct perf_update *update = &events->updates[at - 1];
		if (ret == 0)
			ret = apply_update(event, update->type,
					   (struct span){ update->value, update->size });
		events->update_bytes -= update->size;
		free(update->value);
		update->value = NULL;
	}
	return ret;
}

/* The kept update of that type, from number `last` on; or NULL. */
static struct perf_update *kept_update(const struct perf_file_events *events, uintptr_t last,
				       uint64_t type)
{
	for (uintptr_t at = last; at; at = events->updates[at - 1].previous)
		if (events->updates[at - 1].type == type)
			return &events->updates[at - 1];
	return NULL;
}

/* Keeps an update until its event comes: of each type the last, as only that one counts. */
static int keep_update(struct perf_file_events *events, uint64_t id, uint64_t type,
		       struct span value)
{
	const bool is_text = type == PERF_UPDATE_UNIT || type == PERF_UPDATE_NAME;
	const size_t scale_bytes = sizeof(((struct perf_file_event *)NULL)->scale);
	if (type != PERF_UPDATE_SCALE && !is_text)
		return 0;
	size_t size = is_text ? strnlen(value.data, value.size) : scale_bytes;
	if (!size || size > value.size)
		return 0;
	uintptr_t last = (uintptr_t)number_map_find(&events->updates_by_id, id);
	struct perf_update *update = kept_update(events, last, type);
	size_t more = update ? 0 : sizeof(*update);
	if (size > UPDATES_MAX_BYTES - events->update_bytes ||
	    more > UPDATES_MAX_BYTES - events->update_bytes - size)
		return -E2BIG;
	if (!update) {
		if (array_reserve(&events->updates, &events->update_capacity, events->update_count,
				  sizeof(*events->updates)) < 0)
			return -ENOMEM;
		update = &events->updates[events->update_count];
		*update = (struct perf_update){ .type = type, .previous = (uint32_t)last };
		if (number_map_put(&events->updates_by_id, id, (void *)(events->update_count + 1)) <
		    0)
			return -ENOMEM;
		events->update_count++;
	}
	char *copy = malloc(size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, value.data, size);
	free(update->value);
	events->update_bytes += more + size - update->size;
	update->value = copy;
	update->size = size;
	return 0;
}

int perf_events_update(struct perf_file_events *events, uint64_t id, uint64_t type,
		       struct span value)
{
	uint32_t event = perf_events_find(events, id);
	return event == PERF_NO_EVENT ? keep_update(events, id, type, value)
				      : apply_update(&events->list[event], type, value);
}

int perf_events_add_id(struct perf_file_events *events, uint32_t event, uint64_t id)
{
	int ret = number_map_put(&events->by_id, id, (void *)((uintptr_t)event + 1));
	return ret < 0 ? ret : apply_updates(events, &events->list[event], id);
}

static uint64_t word_at(const uint8_t *record, size_t size, size_t at)
{
	uint64_t word;
	if (at > size || size - at < sizeof(word))
		return 0;
	memcpy(&word, record + at, sizeof(word));
	return word;
}

static bool is_sample(const uint8_t *record)
{
	uint32_t type;
	memcpy(&type, record, sizeof(type));
	return type == PERF_RECORD_SAMPLE;
}

/* The id of a record; false when it has none. */
static bool id_of_record(const struct perf_file_events *events, const uint8_t *record, size_t size,
			 uint64_t *id)
{
	if (is_sample(record)) {
		if (events->sample_id_at < 0)
			return false;
		*id = word_at(record, size, (size_t)events->sample_id_at);
		return true;
	}
	if (events->trailer_id_at < 0 || size < HEADER_BYTES + (size_t)events->trailer_id_at)
		return false;
	*id = word_at(record, size, size - (size_t)events->trailer_id_at);
	return true;
}

uint32_t perf_events_of_record(const struct perf_file_events *events, const uint8_t *record,
			       size_t size)
{
	if (events->count <= 1)
		return events->count ? 0 : PERF_NO_EVENT;
	uint64_t id;
	if (!id_of_record(events, record, size, &id) || !id)
		return 0;
	return perf_events_find(events, id);
}

uint32_t perf_events_of_swapped(const struct perf_file_events *events, const uint8_t *record,
				size_t size)
{
	uint64_t id;
	if (events->count <= 1 || !id_of_record(events, record, size, &id))
		return 0;
	return perf_events_find(events, __builtin_bswap64(id));
}

uint64_t perf_events_time(const struct perf_file_events *events, const uint8_t *record, size_t size)
{
	uint32_t number = events->same_layout ? 0 : perf_events_of_record(events, record, size);
	if (number >= events->count)
		return 0;
	const struct perf_layout *layout = &events->list[number].layout;
	uint64_t time = 0;
	if (is_sample(record)) {
		int at = sample_time_at(layout->sample_type);
		time = at < 0 ? 0 : word_at(record, size, (size_t)at);
	} else if (layout->sample_id_all) {
		int at = trailer_time_at(layout->sample_type);
		if (at >= 0 && size >= HEADER_BYTES + (size_t)at)
			time = word_at(record, size, size - (size_t)at);
	}
	return time == UINT64_MAX ? 0 : time;
}

static int add_name(struct number_map *names, uint64_t number, struct span name)
{
	char *text = NULL;
	if (number_map_find(names, number))
		return 0;
	int ret = replace_text(&text, name);
	if (ret == 0 && text)
		ret = number_map_put(names, number, text);
	if (ret < 0)
		free(text);
	return ret;
}

int perf_events_add_pmu(struct perf_file_events *events, uint32_t type, struct span name)
{
	return add_name(&events->pmus, type, name);
}

int perf_events_add_type(struct perf_file_events *events, uint64_t config, struct span name)
{
	return add_name(&events->types, config, name);
}

#include "support/callgrind_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorted.h"

static const char expected_events[] = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim";

enum step_kind { STEP_NONE, STEP_CALL, STEP_JUMP };

struct reading {
	struct callgrind_counts *out;
	const char *path;
	size_t line;
	size_t object; /* of the costs */
	char **names;  /* of objects, by their number in the file */
	size_t name_count, name_capacity;
	uint64_t last; /* address */
	/* What the next line with a position is the source of. */
	enum step_kind pending;
	uint64_t target, count;
	size_t target_object; /* of a call: where its target lies */
};

__attribute__((noreturn)) static void fault(const struct reading *reading, const char *what)
{
	fprintf(stderr, "callgrind file '%s', line %zu: %s\n", reading->path, reading->line, what);
	exit(1);
}

static void *add(void *array, size_t *capacity, size_t *count, size_t size)
{
	void **list = array;
	if (array_reserve(array, capacity, *count, size) < 0)
		abort();
	void *place = (char *)*list + (*count)++ * size;
	memset(place, 0, size);
	return place;
}

static size_t object_named(struct reading *reading, const char *name)
{
	struct callgrind_counts *counts = reading->out;
	for (size_t i = 0; i < counts->object_count; i++)
		if (strcmp(counts->objects[i].path, name) == 0)
			return i;
	struct callgrind_object *object = add(&counts->objects, &counts->object_capacity,
					      &counts->object_count, sizeof(*object));
	object->path = strdup(name);
	return counts->object_count - 1;
}

/* "(3) /usr/bin/gzip" gives 3 a name, "(3)" uses it. */
static size_t read_object(struct reading *reading, const char *text)
{
	char *end;
	if (*text != '(')
		fault(reading, "an object without a number");
	size_t number = strtoul(text + 1, &end, 10);
	if (*end != ')')
		fault(reading, "an object without a number");
	while (reading->name_count <= number)
		add(&reading->names, &reading->name_capacity, &reading->name_count, sizeof(char *));
	if (end[1] == ' ') {
		free(reading->names[number]);
		reading->names[number] = strdup(end + 2);
	}
	if (!reading->names[number])
		fault(reading, "an object without a name");
	return object_named(reading, reading->names[number]);
}

/* "0x12ab", "+3", "-3", "*": relative to the last line's. */
static uint64_t read_position(const struct reading *reading, char **text)
{
	char *at = *text;
	uint64_t value;
	if (*at == '*') {
		*text = at + 1;
		return reading->last;
	}
	if (*at == '+')
		value = reading->last + strtoull(at + 1, text, 10);
	else if (*at == '-')
		value = reading->last - strtoull(at + 1, text, 10);
	else
		value = strtoull(at, text, 16);
	if (*text == at)
		fault(reading, "no position");
	return value;
}

static void read_counts(struct reading *reading, char *text)
{
	struct callgrind_object *object = &reading->out->objects[reading->object];
	reading->last = read_position(reading, &text);
	if (reading->pending != STEP_NONE) {
		bool inside = reading->target_object == reading->object;
		if (inside) {
			struct callgrind_step *step = add(&object->steps, &object->step_capacity,
							  &object->step_count, sizeof(*step));
			*step = (struct callgrind_step){ reading->last, reading->target,
							 reading->count };
		}
		reading->pending = STEP_NONE;
		reading->target_object = reading->object; /* "cob=" is for one call */
		return;
	}
	text = strchr(text, ' '); /* the source line */
	text = text ? strchr(text + 1, ' ') : NULL;
	if (!text)
		return; /* costs nothing */
	struct callgrind_cost *cost =
		add(&object->costs, &object->cost_capacity, &object->cost_count, sizeof(*cost));
	cost->vaddr = reading->last;
	for (size_t i = 0; i < CALLGRIND_COLUMNS && *text == ' '; i++)
		cost->counts[i] = strtoull(text + 1, &text, 10);
}

/* "calls=COUNT TARGET", "jump=COUNT TARGET", "jcnd=FOLLOWED/EXECUTED TARGET" */
static void read_step(struct reading *reading, enum step_kind kind, char *text)
{
	reading->pending = kind;
	reading->count = strtoull(text, &text, 10);
	text = strchr(text, ' ');
	if (!text)
		fault(reading, "a jump to nowhere");
	text++;
	reading->target = read_position(reading, &text);
	if (kind == STEP_JUMP)
		reading->target_object = reading->object;
}

static bool starts(char *line, const char *key, char **rest)
{
	size_t size = strlen(key);
	*rest = line + size;
	return strncmp(line, key, size) == 0;
}

static void read_line(struct reading *reading, char *line)
{
	char *rest;
	line[strcspn(line, "\n")] = 0;
	if (strchr("+-*", *line) ? *line != 0 : strncmp(line, "0x", 2) == 0) {
		read_counts(reading, line);
	} else if (starts(line, "events: ", &rest)) {
		if (strcmp(rest, expected_events) != 0)
			fault(reading, "other events than the simulations of caches and branches");
	} else if (starts(line, "positions: ", &rest)) {
		if (strcmp(rest, "instr line") != 0)
			fault(reading, "positions are not those of instructions and lines");
	} else if (starts(line, "ob=", &rest)) {
		reading->object = reading->target_object = read_object(reading, rest);
	} else if (starts(line, "cob=", &rest)) {
		reading->target_object = read_object(reading, rest);
	} else if (starts(line, "calls=", &rest)) {
		read_step(reading, STEP_CALL, rest);
	} else if (starts(line, "jump=", &rest) || starts(line, "jcnd=", &rest)) {
		read_step(reading, STEP_JUMP, rest);
	}
}

static int compare_costs(const void *left, const void *right)
{
	const struct callgrind_cost *a = left, *b = right;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int compare_steps(const void *left, const void *right)
{
	const struct callgrind_step *a = left, *b = right;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* The same address appears once for each function that it was inlined into, and more. */
static void add_up(struct callgrind_object *object)
{
	size_t kept = 0;
	if (object->cost_count)
		qsort(object->costs, object->cost_count, sizeof(*object->costs), compare_costs);
	for (size_t i = 0; i < object->cost_count; i++) {
		if (!kept || object->costs[kept - 1].vaddr != object->costs[i].vaddr) {
			object->costs[kept++] = object->costs[i];
			continue;
		}
		for (size_t k = 0; k < CALLGRIND_COLUMNS; k++)
			object->costs[kept - 1].counts[k] += object->costs[i].counts[k];
	}
	object->cost_count = kept;
	kept = 0;
	if (object->step_count)
		qsort(object->steps, object->step_count, sizeof(*object->steps), compare_steps);
	for (size_t i = 0; i < object->step_count; i++)
		if (kept && compare_steps(&object->steps[kept - 1], &object->steps[i]) == 0)
			object->steps[kept - 1].count += object->steps[i].count;
		else
			object->steps[kept++] = object->steps[i];
	object->step_count = kept;
}

void callgrind_counts_read(const char *path, struct callgrind_counts *out)
{
	struct reading reading = { .out = out, .path = path };
	CLEANUP(close_file) FILE *file = fopen(path, "r");
	CLEANUP(free_pointer) char *line = NULL;
	size_t capacity = 0;
	*out = (struct callgrind_counts){ 0 };
	if (!file)
		fault(&reading, "cannot be read");
	while (getline(&line, &capacity, file) > 0) {
		reading.line++;
		read_line(&reading, line);
	}
	for (size_t i = 0; i < out->object_count; i++)
		add_up(&out->objects[i]);
	for (size_t i = 0; i < reading.name_count; i++)
		free(reading.names[i]);
	free(reading.names);
}

void callgrind_counts_release(struct callgrind_counts *counts)
{
	for (size_t i = 0; i < counts->object_count; i++) {
		free(counts->objects[i].path);
		free(counts->objects[i].costs);
		free(counts->objects[i].steps);
	}
	free(counts->objects);
	*counts = (struct callgrind_counts){ 0 };
}

const struct callgrind_cost *callgrind_cost_at(const struct callgrind_object *object,
					       uint64_t vaddr)
{
	struct callgrind_cost key = { .vaddr = vaddr };
	return object->cost_count ? bsearch(&key, object->costs, object->cost_count, sizeof(key),
					    compare_costs)
				  : NULL;
}

const struct callgrind_step *callgrind_steps_from(const struct callgrind_object *object,
						  uint64_t from, size_t *count)
{
	size_t at = SORTED_FROM(object->steps, object->step_count, from, from);
	*count = 0;
	while (at + *count < object->step_count && object->steps[at + *count].from == from)
		++*count;
	return object->steps + at;
}

uint64_t callgrind_steps(const struct callgrind_object *object, uint64_t from, uint64_t to)
{
	size_t count;
	const struct callgrind_step *steps = callgrind_steps_from(object, from, &count);
	for (size_t i = 0; i < count; i++)
		if (steps[i].to == to)
			return steps[i].count;
	return 0;
}

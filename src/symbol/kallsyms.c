#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "symbol/record.h"
#include "symbol/symbol_rank.h"

#define LONGEST_SYMBOL_BYTES 65536	/* the longest of Linux 6.18 has 21,000 */
#define LAST_SYMBOL_BYTES    4096	/* nothing says where the last function of all ends */
#define BPF_GAP_BYTES	     (1u << 20) /* programs are smaller, so that the next one is no neighbour */

/* Takes the next line off `text`. */
static struct span take_line(struct span *text)
{
	const char *start = text->data;
	const char *newline = memchr(start, '\n', text->size);
	size_t size = newline ? (size_t)(newline - start) : text->size;
	size_t used = newline ? size + 1 : size;
	*text = (struct span){ start + used, text->size - used };
	return (struct span){ start, size };
}

/* Takes the next word, up to a space or tab, off `line`; empty at its end. */
static struct span take_word(struct span *line)
{
	const char *at = line->data;
	size_t left = line->size;
	while (left && (*at == ' ' || *at == '\t')) {
		at++;
		left--;
	}
	const char *start = at;
	while (left && *at != ' ' && *at != '\t') {
		at++;
		left--;
	}
	*line = (struct span){ at, left };
	return (struct span){ start, (size_t)(at - start) };
}

static bool parse_hex(struct span word, uint64_t *value)
{
	const char *text = word.data;
	*value = 0;
	if (word.size == 0 || word.size > 16)
		return false;
	for (size_t i = 0; i < word.size; i++) {
		char c = text[i];
		uint64_t digit;
		if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (uint64_t)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			digit = (uint64_t)(c - 'A') + 10;
		else
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

static bool parse_decimal(struct span word, uint64_t *value)
{
	const char *text = word.data;
	*value = 0;
	if (word.size == 0 || word.size > 19)
		return false;
	for (size_t i = 0; i < word.size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(text[i] - '0');
	}
	return true;
}

/* "ffffffff81000000 T _stext" or "ffffffffc0000000 t name\t[module]". */
static bool parse_symbol(struct span line, struct kernel_symbol *symbol)
{
	struct span address = take_word(&line);
	struct span type = take_word(&line);
	*symbol = (struct kernel_symbol){ .name = take_word(&line) };
	struct span module = take_word(&line);
	const char *text = module.data;
	if (!parse_hex(address, &symbol->address) || type.size != 1 || symbol->name.size == 0)
		return false;
	symbol->type = *(const char *)type.data;
	if (module.size == 0)
		return true;
	if (module.size < 3 || text[0] != '[' || text[module.size - 1] != ']')
		return false;
	symbol->module = (struct span){ text + 1, module.size - 2 };
	return true;
}

static bool is_text(const struct kernel_symbol *symbol)
{
	/* $x and $d mark code and data on arm64; they name nothing. */
	if (*(const char *)symbol->name.data == '$')
		return false;
	return symbol->type == 't' || symbol->type == 'T' || symbol->type == 'w' ||
	       symbol->type == 'W';
}

/* Places that linker scripts mark; some function starts there too. */
static bool is_marker(struct span name)
{
	static const char *const endings[] = { "_text_start", "_text_end", "_stext",
					       "_etext",      "_text",	   "_begin",
					       "_sinittext",  "_einittext" };
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t size = strlen(endings[i]);
		if (name.size >= size &&
		    memcmp((const char *)name.data + name.size - size, endings[i], size) == 0)
			return true;
	}
	return false;
}

static int type_rank(char type)
{
	return type == 'T' ? 0 : type == 't' ? 2 : 1;
}

/* By address; of one address the best name first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *left = a;
	const struct kernel_symbol *right = b;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (is_marker(left->name) != is_marker(right->name))
		return is_marker(left->name) ? 1 : -1;
	if (type_rank(left->type) != type_rank(right->type))
		return type_rank(left->type) < type_rank(right->type) ? -1 : 1;
	int order = symbol_rank_names(left->name, right->name);
	return order ? order : span_compare(left->module, right->module);
}

static void keep_best_names(struct kallsyms *kallsyms)
{
	size_t kept = 0;
	for (size_t i = 0; i < kallsyms->count; i++)
		if (kept == 0 ||
		    kallsyms->symbols[kept - 1].address != kallsyms->symbols[i].address)
			kallsyms->symbols[kept++] = kallsyms->symbols[i];
	kallsyms->count = kept;
}

static void give_sizes(struct kallsyms *kallsyms)
{
	for (size_t i = 0; i < kallsyms->count; i++) {
		struct kernel_symbol *symbol = &kallsyms->symbols[i];
		const struct kernel_symbol *next =
			i + 1 < kallsyms->count ? &kallsyms->symbols[i + 1] : NULL;
		uint64_t end;
		if (__builtin_add_overflow(symbol->address, LAST_SYMBOL_BYTES, &end))
			end = UINT64_MAX;
		/* The last of a module or program does not reach to the next one. */
		if (next && (span_equal(next->module, symbol->module) || next->address < end))
			end = next->address;
		if (symbol->module.size == 0 && symbol->address < kallsyms->etext &&
		    kallsyms->etext < end)
			end = kallsyms->etext;
		/* Programs and trampolines follow each other with gaps of any size. */
		if (span_equal(symbol->module, span_of_text("bpf")) &&
		    end - symbol->address >= BPF_GAP_BYTES)
			end = symbol->address + LAST_SYMBOL_BYTES;
		/* No function is that long: behind a label at a gap nothing is known. */
		if (end - symbol->address > LONGEST_SYMBOL_BYTES && end > symbol->address)
			end = symbol->address + LAST_SYMBOL_BYTES;
		/* The end of one at the last address does not fit 64 bits. */
		symbol->size_bytes = end > symbol->address ? end - symbol->address : 1;
	}
}

int kallsyms_parse(struct span bytes, struct kallsyms *kallsyms)
{
	*kallsyms = (struct kallsyms){ 0 };
	size_t capacity = 0;
	size_t zeros = 0;
	while (bytes.size) {
		struct kernel_symbol symbol;
		struct span line = take_line(&bytes);
		if (line.size == 0)
			continue;
		if (!parse_symbol(line, &symbol)) {
			kallsyms->bad++;
			continue;
		}
		/* The first byte behind the text: no text itself, and called data on arm64. */
		if (symbol.module.size == 0 && span_equal(symbol.name, span_of_text("_etext"))) {
			kallsyms->etext = symbol.address;
			continue;
		}
		if (!is_text(&symbol))
			continue;
		/* Per-CPU symbols count from 0, but are data: text at 0 is a hidden address. */
		if (symbol.address == 0) {
			zeros++;
			continue;
		}
		if (symbol.module.size == 0 && span_equal(symbol.name, span_of_text("_stext")))
			kallsyms->stext = symbol.address;
		if (array_reserve(&kallsyms->symbols, &capacity, kallsyms->count,
				  sizeof(*kallsyms->symbols)) < 0) {
			kallsyms_release(kallsyms);
			return -ENOMEM;
		}
		kallsyms->symbols[kallsyms->count++] = symbol;
	}
	kallsyms->hidden = zeros > 0 && kallsyms->count == 0;
	if (kallsyms->count)
		qsort(kallsyms->symbols, kallsyms->count, sizeof(*kallsyms->symbols),
		      compare_symbols);
	keep_best_names(kallsyms);
	give_sizes(kallsyms);
	return 0;
}

void kallsyms_release(struct kallsyms *kallsyms)
{
	free(kallsyms->symbols);
	*kallsyms = (struct kallsyms){ 0 };
}

const struct kernel_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address)
{
	size_t behind = SORTED_BEHIND(kallsyms->symbols, kallsyms->count, address, address);
	if (behind == 0)
		return NULL;
	const struct kernel_symbol *symbol = &kallsyms->symbols[behind - 1];
	return address - symbol->address < symbol->size_bytes ? symbol : NULL;
}

/* "nf_tables 12288 1 - Live 0xffffffffc0000000 (OE)" */
static bool parse_module(struct span line, struct kernel_module *module)
{
	*module = (struct kernel_module){ .name = take_word(&line) };
	struct span size = take_word(&line);
	take_word(&line); /* users */
	take_word(&line); /* their names */
	take_word(&line); /* state */
	struct span base = take_word(&line);
	const char *text = base.data;
	if (module->name.size == 0 || !parse_decimal(size, &module->size_bytes) || base.size < 3 ||
	    text[0] != '0' || text[1] != 'x')
		return false;
	return parse_hex((struct span){ text + 2, base.size - 2 }, &module->base);
}

static int compare_modules(const void *a, const void *b)
{
	const struct kernel_module *left = a;
	const struct kernel_module *right = b;
	if (left->base != right->base)
		return left->base < right->base ? -1 : 1;
	return span_compare(left->name, right->name);
}

int kernel_modules_parse(struct span bytes, struct kernel_modules *modules)
{
	*modules = (struct kernel_modules){ 0 };
	size_t capacity = 0;
	while (bytes.size) {
		struct kernel_module module;
		struct span line = take_line(&bytes);
		if (line.size == 0)
			continue;
		if (!parse_module(line, &module)) {
			modules->bad++;
			continue;
		}
		if (array_reserve(&modules->list, &capacity, modules->count,
				  sizeof(*modules->list)) < 0) {
			kernel_modules_release(modules);
			return -ENOMEM;
		}
		modules->list[modules->count++] = module;
	}
	if (modules->count)
		qsort(modules->list, modules->count, sizeof(*modules->list), compare_modules);
	return 0;
}

void kernel_modules_release(struct kernel_modules *modules)
{
	free(modules->list);
	*modules = (struct kernel_modules){ 0 };
}

long kallsyms_records(const struct kallsyms *kallsyms, struct span module, uint64_t base,
		      const uint64_t *vaddrs, size_t count, struct record_set *out)
{
	long found = 0;
	const struct kernel_symbol *last = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct kernel_symbol *symbol = kallsyms_find(kallsyms, base + vaddrs[i]);
		if (!symbol || !span_equal(symbol->module, module))
			continue;
		found++;
		if (symbol == last)
			continue;
		last = symbol;
		uint64_t first = symbol->address - base;
		struct function_record function = { .name = symbol->name };
		if (record_set_add_function(out, first, first + (symbol->size_bytes - 1),
					    &function) < 0)
			return -ENOMEM;
	}
	return found;
}

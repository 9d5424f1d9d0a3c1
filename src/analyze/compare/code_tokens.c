#include "analyze/compare/code_tokens.h"

#include <ctype.h>
#include <string.h>

#include "base/hash.h"

enum targets { TARGETS_ANYWHERE, TARGETS_BY_OFFSET };

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash_u64(hash + 0x9e3779b97f4a7c15u + value);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return mix(hash, text ? hash_bytes(text, strlen(text)) : 0);
}

/* The operands without the numbers that depend on where the code lies. */
static uint64_t mix_operands(uint64_t hash, const struct annotated_row *row)
{
	if (!row->has_target && !row->has_reference)
		return mix_text(hash, row->operands);
	char text[INSTRUCTION_OPERANDS_BYTES];
	size_t size = 0;
	for (const char *at = row->operands; *at && size + 1 < sizeof(text);) {
		if (at[0] != '0' || at[1] != 'x') {
			text[size++] = *at++;
			continue;
		}
		if (size && text[size - 1] == '-') /* a displacement may be of either sign */
			size--;
		text[size++] = '#';
		for (at += 2; isxdigit((unsigned char)*at); at++)
			continue;
	}
	text[size] = 0;
	return mix_text(hash, text);
}

static uint64_t token_of(const struct annotated_row *row, enum targets targets)
{
	uint64_t hash = mix(row->kind, row->instruction);
	hash = mix_operands(mix_text(hash, row->mnemonic), row);
	if (!row->has_target)
		return hash;
	hash = mix(hash, row->target_here);
	if (row->target_here)
		return targets == TARGETS_BY_OFFSET ? mix(hash, row->target_offset_bytes) : hash;
	return mix_text(hash, row->target_name);
}

static uint64_t offset_of(const struct annotation *annotation, const struct annotated_row *row)
{
	const struct procedure *procedure = annotation->procedure->procedure;
	return row->vaddr - (procedure->extent_known ? procedure->first : 0);
}

void code_tokens_fill(const struct annotation *annotation, enum code_tokens_kind kind,
		      uint64_t *tokens)
{
	uint64_t last = 0; /* of the instruction before */
	for (size_t i = 0; i < annotation->row_count; i++) {
		const struct annotated_row *row = &annotation->rows[i];
		if (kind == CODE_TOKENS_OFFSET)
			tokens[i] = offset_of(annotation, row);
		else if (row->kind == ANNOTATED_NAME)
			tokens[i] = mix(row->kind, 0);
		else if (row->kind == ANNOTATED_INSTRUCTION)
			tokens[i] = token_of(row, TARGETS_ANYWHERE);
		else if (row->kind == ANNOTATED_INSIDE)
			tokens[i] = mix(row->kind, last); /* goes with its instruction */
		else
			tokens[i] = mix(row->kind, offset_of(annotation, row));
		if (row->kind == ANNOTATED_INSTRUCTION)
			last = tokens[i];
	}
}

uint64_t code_tokens_hash(const struct annotation *annotation)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < annotation->row_count; i++) {
		const struct annotated_row *row = &annotation->rows[i];
		if (row->kind == ANNOTATED_INSTRUCTION)
			hash = mix(mix(hash, token_of(row, TARGETS_BY_OFFSET)), row->length_bytes);
	}
	return hash;
}

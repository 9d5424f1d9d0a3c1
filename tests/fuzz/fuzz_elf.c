#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "image/identity.h"
#include "image/plt.h"
#include "image/relocations.h"
#include "symbol/gather_flow.h"
#include "symbol/record.h"
#include "symbol/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The flow of every second function; extents of a hostile file may be long, and decoding them takes
 * long. */
static void gather_all(const struct elf_file *file, const struct symbol_table *table)
{
	struct record_set records = { 0 };
	bool *marks = calloc(table->count + 1, sizeof(*marks));
	if (!marks)
		abort();
	for (size_t i = 0; i < table->count; i += 2)
		marks[i] = true;
	if (gather_flow(file, table, marks, &records) == 0)
		for (size_t i = 0; i < records.count; i++)
			assert(!record_fault(&records.list[i]));
	record_set_release(&records);
	free(marks);
}

/* Any bytes: functions that are found have a size, rise, and are found again by their address. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file file;
	struct identity identity;
	struct extents extents;
	struct plt plt;
	struct relocations relocations;
	struct symbol_table table;
	if (elf_file_parse(data, size, &file, NULL) < 0)
		return 0;
	identity_of_file(&file, &identity);
	assert(identity.segment_count <= IDENTITY_MAX_SEGMENTS);
	if (extents_read(&file, &extents) == 0) {
		for (size_t i = 0; i < extents.count; i++) {
			assert(extents.list[i].size_bytes > 0);
			assert(i == 0 || extents.list[i].start >= extents.list[i - 1].start);
			elf_file_code(&file, extents.list[i].start, extents.list[i].size_bytes);
		}
		extents_release(&extents);
	}
	if (plt_read(&file, &plt) == 0)
		plt_release(&plt);
	if (relocations_read(&file, &relocations) == 0) {
		for (size_t i = 1; i < relocations.count; i++)
			assert(relocations.list[i].vaddr > relocations.list[i - 1].vaddr);
		relocations_release(&relocations);
	}
	if (symbol_table_build(&file, &file, &table) == 0) {
		for (size_t i = 0; i < table.count; i++) {
			const struct symbol *symbol = &table.list[i];
			assert(symbol->size_bytes > 0);
			assert(i == 0 || symbol->start > table.list[i - 1].start);
			assert(symbol_table_find(&table, symbol->start) == symbol);
		}
		for (size_t i = 0; i < table.cold_count; i++)
			assert(table.cold[i] < table.count);
		gather_all(&file, &table);
		symbol_table_release(&table);
	}
	elf_file_release(&file);
	return 0;
}

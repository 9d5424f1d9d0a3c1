#include "analyze/code/annotation.h"

#include <stdlib.h>

void annotation_free(struct annotation *annotation)
{
	if (!annotation)
		return;
	free(annotation->rows);
	free(annotation->sources);
	free(annotation->lines);
	free(annotation->cells);
	free(annotation->line_cells);
	arena_release(&annotation->arena);
	free(annotation);
}

void annotation_freep(struct annotation **annotation)
{
	annotation_free(*annotation);
}

#include <stddef.h>
#include <stdint.h>

#include "import_bytes.h"
#include "import/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	import_bytes(&importer_perf_data, data, size);
	return 0;
}

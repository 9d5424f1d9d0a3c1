#include "symbol/gather.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "image/elf_file.h"
#include "unwind/frame_rules.h"
#include "unwind/frame_table.h"

int gather_frame_table(int fd, struct buffer *out, struct error *err)
{
	CLEANUP(mapped_file_close) struct mapped_file mapping;
	CLEANUP(frame_rules_release) struct frame_rules rules = { 0 };
	struct elf_file file;
	int ret = mapped_file_open(fd, &mapping, err);
	if (ret == 0)
		ret = elf_file_parse(mapping.bytes, mapping.size_bytes, &file, err);
	if (ret < 0)
		return ret;
	ret = frame_rules_read(&file, &rules);
	if (ret == 0)
		ret = frame_table_put(&rules, file.machine, out);
	elf_file_release(&file);
	return ret < 0 ? error_set(err, ret, "out of memory") : 0;
}

#include "symbol/gather.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/mapped_elf.h"
#include "unwind/frame_rules.h"
#include "unwind/frame_table.h"

int gather_frame_table(int fd, struct buffer *out, struct error *err)
{
	CLEANUP(mapped_elf_release) struct mapped_elf elf;
	CLEANUP(frame_rules_release) struct frame_rules rules = { 0 };
	int ret = mapped_elf_open(fd, &elf, err);
	if (ret < 0)
		return ret;
	ret = frame_rules_read(&elf.file, &rules);
	if (ret == 0)
		ret = frame_table_put(&rules, elf.file.machine, out);
	if (ret < 0)
		return error_set(err, ret,
				 ret == -E2BIG
					 ? "unwind rules that hold over more code than is followed"
					 : "out of memory");
	return 0;
}

#include "image/mapped_elf.h"

int mapped_elf_open(int fd, struct mapped_elf *out, struct error *err)
{
	*out = (struct mapped_elf){ 0 };
	int ret = mapped_file_open(fd, &out->mapping, err);
	if (ret == 0)
		ret = elf_file_parse(out->mapping.bytes, out->mapping.size_bytes, &out->file, err);
	out->file.comes_back = ret == 0;
	return ret;
}

void mapped_elf_release(struct mapped_elf *elf)
{
	elf_file_release(&elf->file);
	mapped_file_close(&elf->mapping);
}

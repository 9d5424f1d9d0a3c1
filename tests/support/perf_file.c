#include "support/perf_file.h"

#include <sys/mman.h>

#include <string.h>

#define FILE_HEADER_BYTES 104
#define PRECISE_IP_AT	  15 /* of the attribute's flags */

void perf_file_release(struct perf_file *file)
{
	buffer_release(&file->bytes);
	buffer_release(&file->feature_table);
	buffer_release(&file->feature_bytes);
	buffer_release(&file->ids);
	*file = (struct perf_file){ 0 };
}

static void put_number(struct buffer *out, bool big_endian, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer_append_u8(out, (uint8_t)(value >> 8 * (big_endian ? size - 1 - i : i)));
}

void perf_put_u16(struct perf_file *file, uint16_t value)
{
	put_number(&file->bytes, file->big_endian, value, 2);
}

void perf_put_u32(struct perf_file *file, uint32_t value)
{
	put_number(&file->bytes, file->big_endian, value, 4);
}

void perf_put_u64(struct perf_file *file, uint64_t value)
{
	put_number(&file->bytes, file->big_endian, value, 8);
}

void perf_put_text(struct perf_file *file, const char *text)
{
	size_t size = strlen(text) + 1;
	buffer_append(&file->bytes, text, size);
	for (; size % 8; size++)
		buffer_append_u8(&file->bytes, 0);
}

static void patch(struct perf_file *file, size_t at, uint64_t value, size_t size)
{
	struct buffer bytes = { 0 };
	put_number(&bytes, file->big_endian, value, size);
	memcpy(file->bytes.data + at, bytes.data, size);
	buffer_release(&bytes);
}

static uint8_t reverse_bits(uint8_t byte)
{
	uint8_t reversed = 0;
	for (int i = 0; i < 8; i++)
		reversed |= (uint8_t)((byte >> i & 1) << (7 - i));
	return reversed;
}

static void put_attr(struct perf_file *file, const struct perf_event_attr *attr, size_t size)
{
	uint64_t flags;
	uint8_t bits[8];
	size_t start = file->bytes.size;
	memcpy(&flags, (const uint8_t *)attr + 40, sizeof(flags));
	perf_put_u32(file, attr->type);
	perf_put_u32(file, (uint32_t)size);
	perf_put_u64(file, attr->config);
	perf_put_u64(file, attr->sample_period);
	perf_put_u64(file, attr->sample_type);
	perf_put_u64(file, attr->read_format);
	/* big-endian machines allocate bit fields from the highest bit on, each with its own
	   highest bit first; all have one bit but precise_ip */
	if (file->big_endian) {
		flags &= ~(UINT64_C(3) << PRECISE_IP_AT);
		flags |= (uint64_t)(attr->precise_ip >> 1 | (attr->precise_ip & 1) << 1)
			 << PRECISE_IP_AT;
	}
	memcpy(bits, &flags, sizeof(bits));
	for (size_t i = 0; i < sizeof(bits); i++)
		buffer_append_u8(&file->bytes, file->big_endian ? reverse_bits(bits[i]) : bits[i]);
	perf_put_u64(file, 0); /* wakeup_events, bp_type */
	perf_put_u64(file, attr->config1);
	while (file->bytes.size < start + size) { /* what is 8 bytes long, else 0 */
		size_t at = file->bytes.size - start;
		perf_put_u64(file, at == 72   ? attr->branch_sample_type
				   : at == 80 ? attr->sample_regs_user
					      : 0);
	}
}

void perf_file_begin(struct perf_file *file, const struct perf_event_attr *attrs,
		     const uint64_t *ids, size_t count, size_t attr_bytes)
{
	file->bytes.size = 0;
	for (size_t i = 0; i < FILE_HEADER_BYTES; i++)
		buffer_append_u8(&file->bytes, 0);
	size_t ids_at = file->bytes.size;
	for (size_t i = 0; i < count && ids; i++)
		perf_put_u64(file, ids[i]);
	file->attrs = file->bytes.size;
	file->attr_count = count;
	file->attr_size = attr_bytes + 16;
	for (size_t i = 0; i < count; i++) {
		put_attr(file, &attrs[i], attr_bytes);
		perf_put_u64(file, ids_at + i * 8);
		perf_put_u64(file, ids ? 8 : 0);
	}
	file->data = file->bytes.size;
	if (count)
		file->attr = attrs[0];
}

void perf_file_begin_pipe(struct perf_file *file)
{
	file->pipe = true;
	buffer_append(&file->bytes, file->big_endian ? "2ELIFREP" : "PERFILE2", 8);
	perf_put_u64(file, 16);
}

void perf_file_end(struct perf_file *file)
{
	if (file->pipe)
		return;
	size_t end = file->bytes.size;
	memcpy(file->bytes.data, file->big_endian ? "2ELIFREP" : "PERFILE2", 8);
	patch(file, 8, FILE_HEADER_BYTES, 8);
	patch(file, 16, file->attr_size, 8);
	patch(file, 24, file->attrs, 8);
	patch(file, 32, file->attr_count * file->attr_size, 8);
	patch(file, 40, file->data, 8);
	patch(file, 48, end - file->data, 8);
	patch(file, 72, file->features, 8);
	size_t count = file->feature_table.size / 8;
	uint64_t at = end + count * 16;
	for (size_t i = 0; i < count; i++) {
		uint64_t size;
		memcpy(&size, file->feature_table.data + i * 8, sizeof(size));
		perf_put_u64(file, at);
		perf_put_u64(file, size);
		at += size;
	}
	if (file->feature_bytes.size)
		buffer_append(&file->bytes, file->feature_bytes.data, file->feature_bytes.size);
}

void perf_record_begin(struct perf_file *file, uint32_t type, uint16_t misc)
{
	file->record = file->bytes.size;
	perf_put_u32(file, type);
	perf_put_u16(file, misc);
	perf_put_u16(file, 0);
}

void perf_record_end(struct perf_file *file)
{
	patch(file, file->record + 6, file->bytes.size - file->record, 2);
}

void perf_put_trailer(struct perf_file *file, uint32_t pid, uint32_t tid, uint64_t time,
		      uint64_t id)
{
	perf_put_u32(file, pid);
	perf_put_u32(file, tid);
	perf_put_u64(file, time);
	if (id)
		perf_put_u64(file, id);
}

void perf_put_comm(struct perf_file *file, uint32_t pid, uint32_t tid, const char *name, bool exec,
		   uint64_t time, uint64_t id)
{
	perf_record_begin(file, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	perf_put_u32(file, pid);
	perf_put_u32(file, tid);
	perf_put_text(file, name);
	perf_put_trailer(file, pid, tid, time, id);
	perf_record_end(file);
}

void perf_put_mmap(struct perf_file *file, uint32_t pid, uint64_t start, uint64_t size,
		   uint64_t offset, const char *path, uint64_t time, uint64_t id)
{
	uint16_t mode = pid == UINT32_MAX ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	perf_record_begin(file, PERF_RECORD_MMAP, mode);
	perf_put_u32(file, pid);
	perf_put_u32(file, pid);
	perf_put_u64(file, start);
	perf_put_u64(file, size);
	perf_put_u64(file, offset);
	perf_put_text(file, path);
	perf_put_trailer(file, pid, pid, time, id);
	perf_record_end(file);
}

void perf_put_mmap2(struct perf_file *file, uint32_t pid, uint64_t start, uint64_t size,
		    const struct perf_file_inode *inode, const char *path, uint64_t time)
{
	perf_record_begin(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	perf_put_u32(file, pid);
	perf_put_u32(file, pid);
	perf_put_u64(file, start);
	perf_put_u64(file, size);
	perf_put_u64(file, 0);
	perf_put_u32(file, inode->major);
	perf_put_u32(file, inode->minor);
	perf_put_u64(file, inode->inode);
	perf_put_u64(file, inode->generation);
	perf_put_u32(file, PROT_READ | PROT_EXEC);
	perf_put_u32(file, MAP_PRIVATE);
	perf_put_text(file, path);
	perf_put_trailer(file, pid, pid, time, 0);
	perf_record_end(file);
}

void perf_put_empty(struct perf_file *file, uint32_t type)
{
	perf_record_begin(file, type, 0);
	perf_record_end(file);
}

void perf_add_feature_clock(struct perf_file *file, unsigned feature, uint64_t wall_ns,
			    uint64_t at_ns)
{
	const uint64_t size = 24;
	file->features |= UINT64_C(1) << feature;
	put_number(&file->feature_bytes, file->big_endian, 1, 4); /* version */
	put_number(&file->feature_bytes, file->big_endian, 1, 4); /* CLOCK_MONOTONIC */
	put_number(&file->feature_bytes, file->big_endian, wall_ns, 8);
	put_number(&file->feature_bytes, file->big_endian, at_ns, 8);
	buffer_append(&file->feature_table, &size, sizeof(size));
}

void perf_add_feature_text(struct perf_file *file, unsigned feature, const char *text)
{
	uint64_t size = 4 + strlen(text) + 1;
	file->features |= UINT64_C(1) << feature;
	put_number(&file->feature_bytes, file->big_endian, strlen(text) + 1, 4);
	buffer_append(&file->feature_bytes, text, strlen(text) + 1);
	buffer_append(&file->feature_table, &size, sizeof(size));
}

#include "import/code/mapped_image.h"

#include <stdbool.h>
#include <string.h>

#include "base/digits.h"
#include "base/hash.h"
#include "import/code/perf_dso.h"
#include "profile/profile.h"

#define BUILD_ID_MAX_TEXT 128 /* a longer one is hashed */

/* Its bytes when it is hexadecimal, else the text itself. */
static struct span bytes_of(struct span text, uint8_t bytes[BUILD_ID_MAX_TEXT])
{
	const char *digits = text.data;
	if (text.size > BUILD_ID_MAX_TEXT) {
		struct hash128 hash = hash128_bytes(text.data, text.size);
		memcpy(bytes, &hash, sizeof(hash));
		return (struct span){ bytes, sizeof(hash) };
	}
	for (size_t i = 0; i < text.size; i++)
		if (text.size % 2 || hex_digit(digits[i]) < 0)
			return text;
	for (size_t i = 0; i < text.size / 2; i++)
		bytes[i] = (uint8_t)(hex_digit(digits[2 * i]) * 16 + hex_digit(digits[2 * i + 1]));
	return (struct span){ bytes, text.size / 2 };
}

int mapped_path_read(struct profile *profile, struct span path, struct mapped_path *out)
{
	if (span_equal(path, span_of_text("[unknown]"))) /* what other tools write for none */
		path.size = 0;
	struct profile_image image = { .kind = IMAGE_NAME, .name = span_of_text("") };
	if (path.size)
		image = perf_dso_classify(path);
	const bool is_file =
		path.size && image.kind == IMAGE_NAME && *(const char *)path.data != '[';
	*out = (struct mapped_path){ .kind = is_file ? IMAGE_FILE : image.kind,
				     .space = is_file ? SPACE_OFFSET : SPACE_PROCESS };
	int ret = path.size ? profile_add_bytes(profile, path, &out->path) : 0;
	return ret < 0 ? ret : profile_add_bytes(profile, image.name, &out->name);
}

int mapped_build_read(struct profile *profile, struct span build_id, uint32_t *number)
{
	uint8_t bytes[BUILD_ID_MAX_TEXT];
	struct span read = bytes_of(build_id, bytes);
	*number = 0;
	return read.size ? profile_add_bytes(profile, read, number) : 0;
}

int mapped_image_of(struct profile *profile, const struct mapped_path *path, uint32_t build_id,
		    uint32_t *id)
{
	const struct profile_image image = { .kind = path->kind, .space = path->space };
	const struct profile_image_texts texts = {
		.build_id = build_id,
		/* two files may claim one build-id: their paths keep them apart */
		.name = build_id && path->kind == IMAGE_KERNEL ? 0 : path->name,
	};
	int ret = profile_add_image_by_ids(profile, &image, &texts, id);
	return ret < 0 || !path->path ? ret : profile_add_path_by_ids(profile, *id, path->path);
}

int mapped_image_add(struct profile *profile, struct span path, struct span build_id, uint32_t *id)
{
	struct mapped_path read;
	uint32_t build;
	int ret = mapped_path_read(profile, path, &read);
	if (ret == 0)
		ret = mapped_build_read(profile, build_id, &build);
	return ret < 0 ? ret : mapped_image_of(profile, &read, build, id);
}

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

int mapped_image_add(struct profile *profile, struct span path, struct span build_id, uint32_t *id)
{
	uint8_t bytes[BUILD_ID_MAX_TEXT];
	if (span_equal(path, span_of_text("[unknown]"))) /* another tool's word for none */
		path.size = 0;
	struct profile_image image = { .kind = IMAGE_NAME, .name = span_of_text("") };
	if (path.size)
		image = perf_dso_classify(path);
	const bool is_file =
		path.size && image.kind == IMAGE_NAME && *(const char *)path.data != '[';
	if (is_file)
		image.kind = IMAGE_FILE;
	image.space = is_file ? SPACE_OFFSET : SPACE_PROCESS;
	image.build_id = bytes_of(build_id, bytes);
	if (image.build_id.size == 0)
		image.build_id = (struct span){ NULL, 0 };
	else if (image.kind == IMAGE_KERNEL)
		image.name =
			(struct span){ NULL, 0 }; /* of files the path counts: two may say one */
	int ret = profile_add_image(profile, &image, id);
	if (ret == 0 && path.size)
		ret = profile_add_path(profile, *id, path);
	return ret;
}

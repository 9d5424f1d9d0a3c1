#include "analyze/names/resolve_private.h"

#include <stdio.h>
#include <string.h>

#include "image/deleted_path.h"

const char *resolver_copy(struct resolver *resolver, struct span text)
{
	return arena_copy_text(&resolver->arena, text.data, text.size);
}

static const char *bracketed(struct resolver *resolver, const char *what, struct span name)
{
	if (name.size == 0)
		return arena_printf(&resolver->arena, "[%s]", what);
	return arena_printf(&resolver->arena, "[%s%s%.*s]", what, *what ? " " : "", (int)name.size,
			    (const char *)name.data);
}

/* "comm pid start boot" identifies the process for good; people know it by the first two. */
static struct span without_last_two_words(struct span name)
{
	const char *text = name.data;
	size_t size = name.size;
	for (int words = 0; words < 2; words++) {
		const char *space = size ? memrchr(text, ' ', size) : NULL;
		if (!space || space == text)
			return name;
		size = (size_t)(space - text);
	}
	return (struct span){ text, size };
}

static const char *file_name(struct resolver *resolver, uint32_t id,
			     const struct profile_image *image)
{
	const char *name = image_claims_name(&resolver->claims, id, &resolver->arena);
	if (name)
		return name;
	char hexadecimal[17] = "";
	struct span identity = image->build_id.size ? image->build_id : image->hash;
	for (size_t i = 0; i < identity.size && i < 8; i++)
		snprintf(hexadecimal + 2 * i, 3, "%02x", ((const uint8_t *)identity.data)[i]);
	return bracketed(resolver, image->build_id.size ? "build-id" : "hash",
			 span_of_text(hexadecimal));
}

static const char *name_image(struct resolver *resolver, uint32_t id)
{
	struct profile_image image = profile_image(resolver->profile, id);
	struct span none = { NULL, 0 };
	switch (image.kind) {
	case IMAGE_FILE:
		return file_name(resolver, id, &image);
	case IMAGE_KERNEL:
		return image.name.size && image.build_id.size == 0
			       ? bracketed(resolver, "", image.name)
			       : bracketed(resolver, "kernel", none);
	case IMAGE_MODULE:
		return bracketed(resolver, image.name.size ? "" : "module", image.name);
	case IMAGE_VDSO:
		return bracketed(resolver, "vdso", none);
	case IMAGE_BPF:
		return bracketed(resolver, "bpf", image.name);
	case IMAGE_JIT:
		return bracketed(resolver, "jit", without_last_two_words(image.name));
	case IMAGE_NAME:
		return resolver_copy(resolver, span_base_name(deleted_path_strip(image.name)));
	default:
		return image.name.size ? bracketed(resolver, "unknown:", image.name)
				       : bracketed(resolver, "unknown", none);
	}
}

const char *resolver_image(struct resolver *resolver, uint32_t image)
{
	if (image == 0 || image > resolver->image_count)
		return "";
	if (!resolver->images[image - 1])
		resolver->images[image - 1] = name_image(resolver, image);
	return resolver->images[image - 1] ? resolver->images[image - 1] : "";
}

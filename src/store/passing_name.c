#include "store/passing_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define RANDOM_CHARACTERS 10 /* of 32: 50 bits */
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

/* Writes the part before the random characters. Returns its length. */
static size_t put_beginning(const char *name, const char *purpose, char made[PASSING_NAME_BYTES])
{
	size_t room = PASSING_NAME_BYTES - 1 - RANDOM_CHARACTERS - strlen(purpose);
	return (size_t)snprintf(made, PASSING_NAME_BYTES, "%.*s%s", (int)room, name, purpose);
}

int passing_name_make(const char *name, const char *purpose, char made[PASSING_NAME_BYTES])
{
	uint8_t random[RANDOM_CHARACTERS];
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return errno ? -errno : -EIO;
	size_t size = put_beginning(name, purpose, made);
	for (size_t i = 0; i < RANDOM_CHARACTERS; i++)
		made[size + i] = alphabet[random[i] % (sizeof(alphabet) - 1)];
	made[size + RANDOM_CHARACTERS] = 0;
	return 0;
}

bool passing_name_is(const char *name, const char *purpose)
{
	size_t size = strlen(name), tail = strlen(purpose) + RANDOM_CHARACTERS;
	return size > tail && strncmp(name + size - tail, purpose, strlen(purpose)) == 0 &&
	       strspn(name + size - RANDOM_CHARACTERS, alphabet) == RANDOM_CHARACTERS;
}

void passing_names_each(int folder, const char *name, const char *purpose,
			void (*each)(int folder, const char *found))
{
	char beginning[PASSING_NAME_BYTES];
	size_t size = put_beginning(name, purpose, beginning);
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	struct dirent *found;
	while ((found = readdir(list))) {
		const char *rest = found->d_name + size;
		if (strncmp(found->d_name, beginning, size) == 0 &&
		    strlen(rest) == RANDOM_CHARACTERS && strspn(rest, alphabet) == strlen(rest))
			each(folder, found->d_name);
	}
	closedir(list);
}

/*
 * folder-attacker - what another user of a common folder can do to one who records there:
 *
 *	folder-attacker read|cut FOLDER NAME
 *
 * Until SIGTERM it makes NAME.open-wal and the like again as soon as they are gone, opens, links
 * and renames whatever appears, and keeps every descriptor. `read` looks at what they show, `cut`
 * empties and locks it, and the folder. At its end it says how many descriptors it held and how
 *many bytes of others it saw; status 1 when there were any.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELD_LIMIT 400
#define NAME_SPACE 512

struct held {
	int fd;
	ino_t inode;
};

static volatile sig_atomic_t stopped;
static struct held held[HELD_LIMIT];
static size_t held_count;
static long long seen_bytes;
static bool cuts;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

/* Takes over a descriptor, or closes it when its file is held already. */
static void hold(int fd)
{
	struct stat found;
	if (fd < 0)
		return;
	bool known = fstat(fd, &found) < 0 || held_count == HELD_LIMIT;
	for (size_t i = 0; i < held_count && !known; i++)
		known = held[i].inode == found.st_ino;
	if (known)
		close(fd);
	else
		held[held_count++] = (struct held){ fd, found.st_ino };
}

static void look(const struct held *one)
{
	char bytes[65536];
	struct stat found;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	if (fstat(one->fd, &found) < 0 || !S_ISREG(found.st_mode))
		return;
	if (cuts) {
		bool held_for_reading = ftruncate(one->fd, 0) < 0;
		(void)held_for_reading;
		fcntl(one->fd, F_OFD_SETLK, &lock);
		flock(one->fd, LOCK_EX | LOCK_NB);
	}
	ssize_t got = pread(one->fd, bytes, sizeof(bytes), 0);
	seen_bytes += got > 0 ? got : 0;
}

/* Everything that is there, however long it stays. */
static void try_name(int folder, const char *name)
{
	static const char *const inside[] = { "profile", "profile-wal", "profile-shm" };
	static unsigned number;
	char other[64];
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	hold(fd >= 0 ? fd : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
	int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	for (size_t i = 0; below >= 0 && i < 3; i++) {
		fd = openat(below, inside[i], O_RDWR | O_NOFOLLOW | O_NONBLOCK);
		hold(fd >= 0 ? fd : openat(below, inside[i], O_RDONLY | O_NOFOLLOW));
		hold(openat(below, inside[i], O_RDWR | O_CREAT | O_EXCL, 0666));
	}
	if (below >= 0)
		close(below);
	snprintf(other, sizeof(other), "stolen.%u", number++);
	if (strncmp(name, "stolen.", 7) != 0 && linkat(folder, name, folder, other, 0) < 0)
		renameat(folder, name, folder, other);
}

static void make_names(int folder, const char *name)
{
	static const char *const endings[] = { ".open-wal",	    ".open-shm",
					       ".open-journal",	    ".new",
					       ".old.new",	    ".open.new",
					       ".open/profile-wal", ".open.old" };
	char made[NAME_SPACE];
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(made, sizeof(made), "%s%s", name, endings[i]);
		int fd = openat(folder, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
		if (fd >= 0)
			fchmod(fd, 0666);
		hold(fd);
	}
}

static void take_events(int events, int folder)
{
	char bytes[8192] __attribute__((aligned(8)));
	ssize_t got = read(events, bytes, sizeof(bytes));
	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(bytes + at);
		if (event->len)
			try_name(folder, event->name);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	cuts = strcmp(argv[1], "cut") == 0;
	int folder = open(argv[2], O_RDONLY | O_DIRECTORY);
	int events = inotify_init1(IN_NONBLOCK);
	if (folder < 0 || inotify_add_watch(events, argv[2], IN_CREATE | IN_MOVED_TO) < 0)
		return 2;
	signal(SIGTERM, stop);
	if (cuts)
		flock(folder, LOCK_EX | LOCK_NB);
	make_names(folder, argv[3]);
	puts("ready");
	fflush(stdout);
	while (!stopped) {
		make_names(folder, argv[3]);
		take_events(events, folder);
		for (size_t i = 0; i < held_count; i++)
			look(&held[i]);
	}
	printf("held %zu, saw %lld bytes\n", held_count, seen_bytes);
	return seen_bytes > 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The computer's files are only read, however a guest mounts them. Included in fs/hostfs/hostfs_user.c, below
 * which there is only the computer's own system: each call there that would change something is replaced.
 *
 * The one folder with files that a guest writes is the bench's folder of this guest. Of that only files that
 * stand in it directly and are not hidden: so there is no folder or link whose path could be made to lead
 * elsewhere.
 */
#ifndef SUNSTAR_READ_ONLY_H
#define SUNSTAR_READ_ONLY_H

#include <stdlib.h>

static int sunstar_refused(void)
{
	errno = EROFS;
	return -1;
}

static int sunstar_own(const char *path)
{
	const char *folder = getenv("SUNSTAR_FOLDER");
	size_t length = folder ? strlen(folder) : 0;

	/* What is mounted has one more in front. */
	while (path[0] == '/' && path[1] == '/')
		path++;
	return length && strncmp(path, folder, length) == 0 && path[length] == '/' &&
	       path[length + 1] != '.' && !strchr(path + length + 1, '/');
}

static int sunstar_open(const char *path, int flags, int mode)
{
	if ((flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC)))
		return open64(path, flags);
	return sunstar_own(path) ? open64(path, flags | O_NOFOLLOW, mode) : sunstar_refused();
}

static int sunstar_unlink(const char *path)
{
	return sunstar_own(path) ? unlink(path) : sunstar_refused();
}

static int sunstar_truncate(const char *path, long long size)
{
	int file = sunstar_open(path, O_WRONLY, 0), result;

	if (file < 0)
		return -1;
	result = ftruncate64(file, size);
	close(file);
	return result;
}

#define open64(path, flags, ...) sunstar_open(path, flags, (__VA_ARGS__ + 0))
#define unlink(path) sunstar_unlink(path)
#define truncate(path, size) sunstar_truncate(path, size)
#define chmod(...) sunstar_refused()
#define fchmod(...) sunstar_refused()
#define chown(...) sunstar_refused()
#define fchown(...) sunstar_refused()
#define utimes(...) sunstar_refused()
#define futimes(...) sunstar_refused()
#define symlink(...) sunstar_refused()
#define link(...) sunstar_refused()
#define mkdir(...) sunstar_refused()
#define rmdir(...) sunstar_refused()
#define mknod(...) sunstar_refused()
#define rename(...) sunstar_refused()
/* It is used for renameat2 alone. */
#define syscall(...) sunstar_refused()

#endif

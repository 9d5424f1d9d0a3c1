/*
 * culprit/error.h - how libculprit's functions report that they could not do something.
 *
 * Functions that can fail return 0 or a negative errno value, and put one sentence into the
 * struct culprit_error they are given: lower case, no full stop, the cause named. NULL may be given
 * by a caller that does not care.
 */
#ifndef CULPRIT_ERROR_H
#define CULPRIT_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the shared library exports. */
#if defined(__GNUC__)
#define CULPRIT_API __attribute__((visibility("default")))
#else
#define CULPRIT_API
#endif

/*
 * Of functions that begin and end a measurement: the program's calls of them are bound when it is
 * loaded. Bound by the first call, as calls of shared libraries usually are, that first measurement
 * would contain some hundred instructions of the dynamic linker. clang has no such attribute; there
 * the option -fno-plt, or -Wl,-z,now, does the same.
 */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define CULPRIT_API_BOUND CULPRIT_API __attribute__((noplt))
#endif
#endif
#ifndef CULPRIT_API_BOUND
#define CULPRIT_API_BOUND CULPRIT_API
#endif

struct culprit_error {
	int code;	 /* negative errno value; 0 when nothing was set */
	char text[1024]; /* "" when nothing was set */
};

#ifdef __cplusplus
}
#endif
#endif

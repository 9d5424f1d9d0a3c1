/*
 * sanitizers - whether this build runs under the address or thread sanitizer,
 * whose runtime maps more memory and makes more system calls than a release.
 */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZER 1 /* it forbids a signal's handler to allocate, even one for a fault */
#else
#define THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || THREAD_SANITIZER
#define SANITIZERS 1
#else
#define SANITIZERS 0
#endif

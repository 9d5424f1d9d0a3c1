/*
 * sanitizers - whether this build runs under the address or thread sanitizer,
 * whose runtime maps more memory and makes more system calls than a release.
 */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZERS 1
#endif
#endif
#ifndef SANITIZERS
#define SANITIZERS 0
#endif

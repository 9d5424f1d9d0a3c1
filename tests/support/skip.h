/*
 * skip - ends a test that this machine cannot run: not a pass, and the reason is shown
 * (tools/run-tests). After cmocka.h.
 */
#pragma once

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message(__VA_ARGS__);                                                        \
		print_message("\n");                                                               \
		skip();                                                                            \
	} while (0)

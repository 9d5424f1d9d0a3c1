/*
 * reader_helper - the other side of the reader: what its two helper processes do.
 */
#pragma once

enum helper_kind {
	HELPER_OPENER, /* opens files with our rights; parses nothing */
	HELPER_PARSER, /* parses files; has no rights */
};

/* Runs in a fresh fork until the socket's other end closes. Never returns. */
__attribute__((noreturn)) void reader_helper_run(enum helper_kind kind, int socket);

/*
 * reader_helper - what the reader's helper processes do. Each function is struct helper's `run`.
 */
#pragma once

/* Opens files with our rights; parses nothing. */
void reader_helper_open(int socket);
/* Parses files; has no rights. */
void reader_helper_parse(int socket);
void reader_helper_parse_strange(int socket); /* likewise, with less memory */

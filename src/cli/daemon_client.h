/*
 * daemon_client - asks a running daemon (daemon/control.h has the protocol).
 */
#pragma once

struct buffer;
struct error;

/*
 * Sends the request, a line without its end, to the socket and appends the answer to *answer. It is
 * given up, with -ECANCELED, when `stop_fd` becomes readable; -1: only after a minute in which
 * nothing came. 0; or a negative errno value with *err, which is the daemon's own sentence where it
 * refused (-EREMOTEIO).
 */
int daemon_client_ask(const char *socket_path, const char *request, int stop_fd,
		      struct buffer *answer, struct error *err);

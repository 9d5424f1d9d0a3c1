/*
 * service_manager - what a service tells who started it, such as systemd, by datagrams to
 * $NOTIFY_SOCKET; sd_notify(3) has the protocol.
 */
#pragma once

/* Sends lines as "READY=1" or "STATUS=..."; without a manager it does nothing. A message that
 * cannot be sent is dropped: the manager then finds that a service is not ready. */
void service_manager_tell(const char *state);

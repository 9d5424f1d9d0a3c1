/*
 * daemon_status - a daemon's status (daemon/service_report.c) as text.
 */
#pragma once

#include <stdbool.h>

struct buffer;

/* Appends the lines to *page. False: it is no JSON document of that kind. */
bool daemon_status_text(const struct buffer *json, struct buffer *page);

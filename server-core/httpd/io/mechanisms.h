/*
 * The event mechanisms that there are.
 */
#ifndef TRIMTAB_HTTPD_IO_MECHANISMS_H
#define TRIMTAB_HTTPD_IO_MECHANISMS_H

#include "httpd/io/events.h"

extern const struct event_mechanism event_mechanism_epoll;
extern const struct event_mechanism event_mechanism_epoll_et;
extern const struct event_mechanism event_mechanism_io_uring;
extern const struct event_mechanism event_mechanism_poll;
extern const struct event_mechanism event_mechanism_select;

#endif

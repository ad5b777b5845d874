/*
 * What the service manager is told of the server's state (sd_notify(3)): a datagram to the socket that
 * NOTIFY_SOCKET names. Without that nothing is sent.
 */
#ifndef TRIMTAB_HTTPD_PROCESS_NOTIFY_H
#define TRIMTAB_HTTPD_PROCESS_NOTIFY_H

/* The server serves, after its start or after a reload; `status` is a line for people. */
void notify_ready(const char *status);

/* A configuration is being taken up; notify_ready() follows. */
void notify_reloading(void);

void notify_stopping(void);

#endif

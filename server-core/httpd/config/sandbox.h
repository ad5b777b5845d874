/*
 * What those that serve may ask of the kernel: to open files, with the rights of their account, to talk to
 * clients that have been accepted, to wait, and what memory and threads need (seccomp(2)). Should somebody
 * bring one of them to run code of his own, that can execute no program, reach no server and trace no
 * process.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_SANDBOX_H
#define TRIMTAB_HTTPD_CONFIG_SANDBOX_H

#include <stdbool.h>

/* Binds the calling process, which must have one thread, to those calls; others fail with EPERM.
 * `with_rings`: it works with a ring of io_uring. It must not be able to gain rights (identity.h). Logs what
 * fails and returns false; where the kernel has no filters, nothing happens. */
bool sandbox_enter(bool with_rings);

#endif

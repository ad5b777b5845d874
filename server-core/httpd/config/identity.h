/*
 * As whom the workers serve: the account that `user` and `group` name. The master stays what it was, because
 * it binds ports, opens the access log and takes up configurations; who talks to clients has no right but to
 * read files.
 */
#ifndef TRIMTAB_HTTPD_CONFIG_IDENTITY_H
#define TRIMTAB_HTTPD_CONFIG_IDENTITY_H

#include "httpd/config/config.h"

#include <stdbool.h>

struct identity;

/*
 * Looks up whom the configuration names, in one block from malloc; NULL in *identity when it names nobody, or
 * when we are not root and so must serve as who we are. Logs what is wrong and returns false, also when that
 * account may not enter a root. Those of the hosts must be open.
 */
bool identity_find(const struct config *config, struct identity **identity);

/*
 * Makes the calling process, which must have one thread, that account (NULL: it stays who it is). Whoever is
 * not root then has no capability, and nothing that it executes can bring one back. Logs what fails and
 * returns false.
 */
bool identity_assume(const struct identity *identity);

#endif

/*
 * The architectures that there are.
 */
#ifndef TRIMTAB_HTTPD_ARCH_ARCHITECTURES_H
#define TRIMTAB_HTTPD_ARCH_ARCHITECTURES_H

#include "httpd/config/architecture.h"

extern const struct architecture architecture_amped;
extern const struct architecture architecture_co_amped;
extern const struct architecture architecture_knot;
extern const struct architecture architecture_mp;
extern const struct architecture architecture_mt;
extern const struct architecture architecture_n_copy;
extern const struct architecture architecture_nm;
extern const struct architecture architecture_pipeline;
extern const struct architecture architecture_shared_symped;
extern const struct architecture architecture_smped;
extern const struct architecture architecture_sped;
extern const struct architecture architecture_symped;
extern const struct architecture architecture_uring;

#endif

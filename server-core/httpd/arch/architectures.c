/*
 * The table of architectures, in the order in which they are listed.
 */
#include "httpd/arch/architectures.h"

/* clang-format off */
const struct architecture *const ARCHITECTURES[] = {
    &architecture_sped,
    &architecture_symped,
    &architecture_shared_symped,
    &architecture_n_copy,
    &architecture_amped,
    &architecture_co_amped,
    &architecture_smped,
    &architecture_mp,
    &architecture_mt,
    &architecture_pipeline,
    &architecture_knot,
    &architecture_nm,
    &architecture_uring,
};
/* clang-format on */

const size_t ARCHITECTURE_COUNT = sizeof(ARCHITECTURES) / sizeof(*ARCHITECTURES);

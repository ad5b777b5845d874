/*
 * The table of architectures; see architecture.h.
 */
#include "httpd/arch/architecture.h"

extern const struct architecture architecture_sped;
extern const struct architecture architecture_symped;

static const struct architecture *const ARCHITECTURES[] = {
    &architecture_sped,
    &architecture_symped,
};

/* What any server has, however it divides its work. */
static const enum knob_id COMMON_KNOBS[] = {
    KNOB_ROOT, KNOB_LISTEN, KNOB_STATS_SOCKET, KNOB_ARCHITECTURE, KNOB_BACKLOG, KNOB_SNDBUF, KNOB_COUNT,
};

const struct architecture *architecture_at(size_t index)
{
    return index < sizeof(ARCHITECTURES) / sizeof(*ARCHITECTURES) ? ARCHITECTURES[index] : NULL;
}

static bool contains(const enum knob_id *knobs, enum knob_id id)
{
    for (; *knobs != KNOB_COUNT; knobs++) {
        if (*knobs == id)
            return true;
    }
    return false;
}

bool architecture_understands(const struct architecture *architecture, enum knob_id id)
{
    return contains(COMMON_KNOBS, id) || contains(architecture->knobs, id);
}

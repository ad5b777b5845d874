/*
 * See architecture.h.
 */
#include "httpd/config/architecture.h"

#include "httpd/io/events.h"

/* What any server has, however it divides its work. */
static const enum knob_id COMMON_KNOBS[] = {
    KNOB_ROOT,       KNOB_LISTEN,   KNOB_STATS_SOCKET,    KNOB_ACCESS_LOG,   KNOB_USER,
    KNOB_MIME_TYPES, KNOB_CHARSET,  KNOB_PRECOMPRESSED,   KNOB_GROUP,        KNOB_BACKLOG,
    KNOB_SNDBUF,     KNOB_CACHE_MB, KNOB_MIN_BYTES_PER_S, KNOB_ARCHITECTURE, KNOB_COUNT,
};

const struct architecture *architecture_at(size_t index)
{
    return index < ARCHITECTURE_COUNT ? ARCHITECTURES[index] : NULL;
}

const char *architecture_name(size_t index)
{
    const struct architecture *architecture = architecture_at(index);

    return architecture ? architecture->name : NULL;
}

/* Returns entry `index` of those that can be copied, or NULL behind the last. */
static const struct architecture *copied_at(size_t index)
{
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++) {
        if (ARCHITECTURES[i]->can_be_copied && index-- == 0)
            return ARCHITECTURES[i];
    }
    return NULL;
}

const char *architecture_copied_name(size_t index)
{
    const struct architecture *architecture = copied_at(index);

    return architecture ? architecture->name : NULL;
}

const struct architecture *architecture_of(const struct config *config)
{
    return architecture_at((size_t)config_integer(config, KNOB_ARCHITECTURE));
}

struct layout architecture_layout(const struct config *config)
{
    const struct architecture *architecture = architecture_of(config);
    const unsigned workers = (unsigned)config_integer(config, KNOB_WORKERS);
    const bool reuseport = config_integer(config, KNOB_REUSEPORT) == SWITCH_ON;
    struct layout layout = {
        .processes = workers,
        .rows = workers,
        .serving = workers,
        .descriptor_tables = workers,
        .listener_sets = reuseport ? workers : 1,
    };

    if (architecture->lay_out)
        architecture->lay_out(config, &layout);
    if (layout.parts == 0)
        layout.parts = layout.listener_sets;
    layout.has_rings |= event_mechanism_at((size_t)config_integer(config, KNOB_EVENTS))->ring;
    return layout;
}

struct row_description architecture_row(const struct config *config, unsigned row)
{
    const struct architecture *architecture = architecture_of(config);

    if (architecture->describe_row)
        return architecture->describe_row(config, row);
    return (struct row_description){.role = "worker", .process = row, .cpu_position = row};
}

static bool contains(const enum knob_id *knobs, enum knob_id id)
{
    for (; *knobs != KNOB_COUNT; knobs++) {
        if (*knobs == id)
            return true;
    }
    return false;
}

const struct architecture *architecture_that_serves(const struct config *config)
{
    const struct architecture *architecture = architecture_of(config);

    return contains(architecture->knobs, KNOB_COPY_OF)
               ? copied_at((size_t)config_integer(config, KNOB_COPY_OF))
               : architecture;
}

/* Says whether any of those that can be copied understands the knob. */
static bool copied_understands(enum knob_id id)
{
    for (size_t i = 0; i < ARCHITECTURE_COUNT; i++) {
        if (ARCHITECTURES[i]->can_be_copied && contains(ARCHITECTURES[i]->knobs, id))
            return true;
    }
    return false;
}

bool architecture_understands(const struct architecture *architecture, enum knob_id id)
{
    return contains(COMMON_KNOBS, id) || contains(architecture->knobs, id) ||
           (contains(architecture->knobs, KNOB_COPY_OF) && copied_understands(id));
}

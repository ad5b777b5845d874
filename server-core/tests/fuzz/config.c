/*
 * Configuration files: whatever is taken and passes the checks is printed as a file that is taken again and
 * printed as the same.
 */
#include "httpd/config/load.h"
#include "httpd/log.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Reads a configuration from bytes, by way of a file in memory. */
static bool read_bytes(struct config *config, const void *bytes, size_t size)
{
    const int fd = memfd_create("config", MFD_CLOEXEC);
    char path[64];
    bool ok;

    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    config_init(config);
    ok = config_read_file(config, path) && config_check(config);
    close(fd);
    return ok;
}

static char *print(const struct config *config, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);

    REQUIRE(out);
    config_print(config, out);
    fclose(out);
    return text;
}

/* Paths may hold what an INI file cannot say again: a comment's beginning, or nothing but line noise. */
static bool is_plain(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == ';' || (bytes[i] < ' ' && bytes[i] != '\n') || bytes[i] > '~')
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct config config, again;
    static char unheard[1];

    log_divert(unheard, sizeof(unheard));
    if (read_bytes(&config, bytes, size) && is_plain(bytes, size)) {
        size_t length, length_again;
        char *text = print(&config, &length);

        if (read_bytes(&again, text, length)) {
            char *text_again = print(&again, &length_again);

            REQUIRE(length == length_again && memcmp(text, text_again, length) == 0);
            free(text_again);
        }
        free(text);
        config_release(&again);
    }
    config_release(&config);
    return 0;
}

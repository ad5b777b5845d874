/*
 * Commands of the stats socket: every line is answered by one line of JSON, or by a text whose last line says
 * that it is, and none does harm.
 */
#include "httpd/control/control.h"
#include "httpd/log.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/eventfd.h>

/* A master with one worker that is not there. */
static struct master *make_master(void)
{
    static struct config config;
    static struct worker_process worker;
    static struct master master;
    static int wake_fd;

    if (master.config)
        return &master;
    config_init(&config);
    REQUIRE(config_set(&config, "root", "/", "") && config_set(&config, "listen", "127.0.0.1:0", ""));
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    master = (struct master){
        .config = &config,
        .architecture = architecture_of(&config),
        .layout = architecture_layout(&config),
        .workers = &worker,
        .wake_fds = &wake_fd,
        .worker_count = 1,
    };
    master.scoreboard = scoreboard_create(&config, master.layout.rows);
    REQUIRE(master.scoreboard && wake_fd >= 0);
    return &master;
}

static void execute(const uint8_t *bytes, size_t size)
{
    char *line = strndup((const char *)bytes, size);
    char *answer = NULL;
    size_t length;
    FILE *out = open_memstream(&answer, &length);

    REQUIRE(line && out);
    control_execute(make_master(), line, out);
    fclose(out);
    REQUIRE(length > 2 && answer[length - 1] == '\n');
    if (answer[0] == '#')
        REQUIRE(strstr(answer, "\n# EOF\n") == answer + length - strlen("\n# EOF\n"));
    else
        REQUIRE((answer[0] == '{' || answer[0] == '[') && strchr(answer, '\n') == answer + length - 1);
    free(answer);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char unheard[1];

    log_divert(unheard, sizeof(unheard));
    while (size > 0) {
        const uint8_t *end = memchr(bytes, '\n', size);
        const size_t length = end ? (size_t)(end - bytes) : size;

        if (length < 1024) /* the socket refuses longer ones (control_socket.c) */
            execute(bytes, length);
        if (!end)
            break;
        size -= length + 1;
        bytes = end + 1;
    }
    return 0;
}

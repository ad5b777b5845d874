/*
 * trimtab-upstream: a server to stand behind a proxy that is measured.
 *
 * How long a reply takes, and how long it is, each request says itself (server.h): both are drawn with the
 * workload, so that every configuration of the proxy meets the same upstream. It works on so many requests at
 * a time and counts how long the others wait (work.h), as an application with a pool of workers does.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { EXIT_CANNOT_RUN = 1, EXIT_BAD_USAGE = 2 };

static const char USAGE[] =
    "usage: trimtab-upstream --listen ADDRESS:PORT [--concurrency N]\n"
    "\n"
    "Answers GET /dynamic/drawn?size=BYTES&us=MICROSECONDS with so many bytes after so long,\n"
    "and GET /status with what it has counted, as JSON.\n"
    "\n"
    "  --listen ADDRESS:PORT  an IPv4 address of this machine, and a port\n"
    "  --concurrency N        requests worked on at a time, 0: all that come (0)\n"
    "  --help, --version\n";

static bool parse_number(const char *text, uint64_t most, uint64_t *value)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *value <= most;
}

static bool parse_address(const char *text, struct sockaddr_in *address)
{
    char host[INET_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    uint64_t port;

    if (colon == NULL || (size_t)(colon - text) >= sizeof(host) || !parse_number(colon + 1, 65535, &port))
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

/* As many descriptors as the machine allows: each connection is one. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"listen", required_argument, NULL, 'l'},
        {"concurrency", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {0},
    };
    const char *listen_text = NULL;
    struct sockaddr_in address;
    uint64_t concurrency = 0;

    for (int option; (option = getopt_long(argc, argv, "hV", options, NULL)) != -1;) {
        switch (option) {
        case 'l':
            listen_text = optarg;
            break;
        case 'c':
            if (!parse_number(optarg, 1000000, &concurrency)) {
                fprintf(stderr,
                        "trimtab-upstream: --concurrency %s: expected an integer from 0 to 1,000,000\n",
                        optarg);
                return EXIT_BAD_USAGE;
            }
            break;
        case 'h':
            fputs(USAGE, stdout);
            return 0;
        case 'V':
            puts("trimtab-upstream " TRIMTAB_VERSION);
            return 0;
        default:
            return EXIT_BAD_USAGE;
        }
    }
    if (listen_text == NULL || optind < argc) {
        fputs(USAGE, stderr);
        return EXIT_BAD_USAGE;
    }
    if (!parse_address(listen_text, &address)) {
        fprintf(stderr,
                "trimtab-upstream: --listen %s: expected an IPv4 address and a port, as 127.0.0.1:9000\n",
                listen_text);
        return EXIT_BAD_USAGE;
    }
    raise_descriptors();
    signal(SIGPIPE, SIG_IGN);
    int listener = server_listen(&address);
    if (listener < 0 || !server_run(listener, concurrency)) {
        fprintf(stderr, "trimtab-upstream: %s: %s\n", listen_text, strerror(errno));
        return EXIT_CANNOT_RUN;
    }
}

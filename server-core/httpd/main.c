/*
 * trimtab-httpd: a web server for static files whose architecture is a knob.
 *
 * This file is the command line: it gathers the configuration, has it checked, and serves with it (serve.h):
 * a master (process/master.h) forks workers (connection/worker.h); each runs an architecture (arch/) over
 * connections (connection/connection.h).
 */
#include "httpd/config/load.h"
#include "httpd/log.h"
#include "httpd/serve.h"
#include "httpd/version.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Sees to it that nothing opened later gets the number of stderr if we were started without one: messages
 * would go there. */
static void occupy_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static void print_usage(FILE *out)
{
    fputs("Usage: trimtab-httpd [-t] [-c FILE] [--set KEY=VALUE]...\n"
          "Serves static files over HTTP/1.1.\n"
          "\n"
          "  -c FILE            configuration file: sections [server], [host NAME…] and [path PREFIX]\n"
          "  --set KEY=VALUE    sets a key, over what the file says\n"
          "  -t                 checks the configuration and prints what is effective\n"
          "  -V, --version      prints the version, the architectures and the event mechanisms\n"
          "  --json             with -V: as JSON, with every combination of them that is allowed\n"
          "  -h, --help         prints this help\n"
          "\n"
          "Keys:\n",
          out);
    for (enum knob_id id = 0; id < KNOB_COUNT; id++) {
        char expected[256];

        knob_expected(&KNOBS[id], expected, sizeof(expected));
        fprintf(out, "  %-18s %s\n%21s%s", KNOBS[id].name, KNOBS[id].help, "", expected);
        if (KNOBS[id].default_text)
            fprintf(out, "; default %s", KNOBS[id].default_text);
        fputs("\n", out);
    }
    fputs("\nIn a section [host NAME…], for requests to one of these names:\n"
          "  root               directory whose files are served\n",
          out);
    fputs("\nIn a section [path PREFIX], for files whose paths begin so:\n"
          "  header             Name: value, a line that goes with them; as often as needed\n"
          "  expires_s          seconds that they stay fresh, as Expires and Cache-Control say it\n",
          out);
    fputs("\nSIGHUP reads the configuration again, SIGUSR1 opens the access log anew, SIGTERM and SIGINT "
          "end.\n",
          out);
    fputs("Exit codes: 0 success, 1 failure while starting or running, 2 bad configuration or usage.\n", out);
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"set", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    struct config_source source = {0};
    char **settings = calloc((size_t)argc, sizeof(*settings));
    bool check_only = false, version = false, json = false;
    struct config *config;
    int exit_code;
    int option;

    occupy_standard_descriptors();
    while ((option = getopt_long(argc, argv, "c:thV", long_options, NULL)) != -1) {
        switch (option) {
        case 'c':
            source.file = optarg;
            break;
        case 's':
            settings[source.setting_count++] = optarg;
            break;
        case 't':
            check_only = true;
            break;
        case 'h':
            print_usage(stdout);
            free(settings);
            return EXIT_SUCCESS;
        case 'V':
            version = true;
            break;
        case 'j':
            json = true;
            break;
        default: /* getopt has said what is wrong */
            log_error("-h explains the usage");
            free(settings);
            return EXIT_CONFIGURATION;
        }
    }
    if (optind < argc) {
        log_error("unexpected argument %s; -h explains the usage", argv[optind]);
        free(settings);
        return EXIT_CONFIGURATION;
    }

    if (version) {
        free(settings);
        (json ? version_write_json : version_write)(stdout);
        return EXIT_SUCCESS;
    }

    config = malloc(sizeof(*config));
    if (!config || !settings) {
        log_errno("cannot start");
        return EXIT_RUNTIME;
    }
    source.settings = settings;
    exit_code = config_load(config, &source);
    if (exit_code == EXIT_SUCCESS && !check_only) {
        exit_code = serve(&source, config);
    } else {
        if (exit_code == EXIT_SUCCESS)
            config_print(config, stdout);
        config_release(config);
        free(config);
    }
    free(settings);
    return exit_code;
}

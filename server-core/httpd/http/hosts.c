/*
 * See hosts.h.
 */
#include "httpd/http/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

size_t hosts_find(const struct hosts *hosts, const char *name, size_t length)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const char *each = hosts->all[i].names;

        while (*each) {
            const size_t each_length = strcspn(each, " ");

            if (each_length == length && strncasecmp(each, name, length) == 0)
                return i + 1;
            each += each_length + strspn(each + each_length, " ");
        }
    }
    return 0;
}

/* Finds the host that a request is for: that of an absolute target, or else of Host (RFC 9112 §3.2.2). */
static size_t host_of(const struct hosts *hosts, const struct request *request, const char *data)
{
    const char *end = data + request->target_offset;
    const char *name = end;
    struct header header = {0};
    size_t length;

    if (end[-1] != ' ') {
        while (name[-1] != '/')
            name--;
        length = (size_t)(end - name);
    } else if (request_find_header(request, data, "Host", &header)) {
        name = header.value;
        length = header.value_length;
    } else {
        return 0;
    }
    for (size_t i = 0; i < length; i++) {
        if (name[i] == ':') /* the port; no host here has an address of IPv6 for a name */
            length = i;
    }
    if (length > 0 && name[length - 1] == '.') /* the root of all names, which may be left out */
        length--;
    return hosts_find(hosts, name, length);
}

int hosts_key(const struct hosts *hosts, const struct request *request, const char *data,
              char key[HOST_KEY_MAX])
{
    const char *target = data + request->target_offset;
    const size_t host = hosts->count > 0 && request->status == 0 ? host_of(hosts, request, data) : 0;
    const int before = host > 0 ? snprintf(key, HOST_KEY_MAX, "/%zu/", host) : 0;
    const int length = path_decode(target, request->target_length, key + before);

    return length < 0 ? length : before + length;
}

const char *hosts_locate(const struct hosts *hosts, const char *key, int *root)
{
    char *path;

    if (*key != '/')
        return key;
    *root = hosts->all[strtoul(key + 1, &path, 10) - 1].fd;
    return path + 1;
}

void hosts_release(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        free(hosts->all[i].names);
        free(hosts->all[i].root);
        free(hosts->all[i].origin);
        if (hosts->all[i].fd >= 0)
            close(hosts->all[i].fd);
    }
    free(hosts->all);
    *hosts = (struct hosts){0};
}

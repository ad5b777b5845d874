/*
 * See protocol.h.
 */
#include "httpd/http/protocol.h"

#include <stdlib.h>
#include <string.h>

#define INPUT_MIN 1024 /* bytes; doubled as needed */
#define BODY_ROOM 8192 /* bytes of a body that are read, and thrown away, at once */

/* Bytes that could not be dealt with yet. */
struct input {
    struct request request; /* how far the first request in it has been parsed */
    uint32_t length, capacity;
    char bytes[];
};

bool protocol_feed_kept(struct protocol *protocol, struct feed *feed)
{
    struct input *input = protocol->input;

    if (!input)
        return false;
    *feed = (struct feed){
        .request = input->request, .bytes = input->bytes, .length = input->length, .input = input};
    protocol->input = NULL;
    return true;
}

/* Makes room for `length` bytes more. Returns false when there is no memory. */
static bool reserve(struct protocol *protocol, size_t length)
{
    const uint32_t used = protocol->input ? protocol->input->length : 0;
    uint32_t capacity = protocol->input ? protocol->input->capacity : INPUT_MIN;
    struct input *grown;

    if (protocol->input && used + length <= capacity)
        return true;
    while (capacity < used + length)
        capacity *= 2;
    grown = realloc(protocol->input, sizeof(*grown) + capacity);
    if (!grown)
        return false;
    if (!protocol->input)
        *grown = (struct input){0};
    grown->capacity = capacity;
    protocol->input = grown;
    return true;
}

bool protocol_keep(struct protocol *protocol, struct feed *feed)
{
    size_t left;

    if (feed->length == 0) {
        if (feed->input)
            protocol_forget(feed);
        return true;
    }
    left = request_keep(&feed->request, feed->length);
    protocol->input = feed->input; /* if they are in one, they fit it */
    if (!feed->input && !reserve(protocol, left))
        return false;
    memmove(protocol->input->bytes, feed->bytes, left);
    protocol->input->length = (uint32_t)left;
    protocol->input->request = feed->request;
    return true;
}

void protocol_forget(struct feed *feed)
{
    free(feed->input);
}

bool protocol_append(struct protocol *protocol, const char *bytes, size_t length)
{
    if (!reserve(protocol, length))
        return false;
    memcpy(protocol->input->bytes + protocol->input->length, bytes, length);
    protocol->input->length += (uint32_t)length;
    return true;
}

char *protocol_room(struct protocol *protocol, size_t *room)
{
    struct input *input = protocol->input;

    if (!reserve(protocol, input && input->request.head_length > 0 ? BODY_ROOM : INPUT_MIN))
        return NULL;
    input = protocol->input;
    *room = input->capacity - input->length;
    return input->bytes + input->length;
}

void protocol_filled(struct protocol *protocol, size_t length)
{
    protocol->input->length += (uint32_t)length;
}

size_t protocol_kept_bytes(const struct protocol *protocol)
{
    return protocol->input ? protocol->input->length : 0;
}

uint64_t protocol_body_bytes(const struct protocol *protocol)
{
    return protocol->input ? protocol->input->request.body.taken : 0;
}

void protocol_drop_input(struct protocol *protocol)
{
    free(protocol->input);
    protocol->input = NULL;
}

/*
 * See file_cache.h.
 */
#include "httpd/file_cache.h"

#include "httpd/file_open.h"
#include "httpd/http/mime.h"
#include "httpd/http/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_NAME "index.html"

struct file_cache {
    int root;
    struct counters *counters;
    size_t capacity, count;
    uint32_t mask; /* number of buckets - 1 */
    struct cached_file *newest, *oldest;
    struct cached_file *buckets[];
};

struct file_cache *file_cache_create(const char *root, size_t capacity, struct counters *counters)
{
    struct file_cache *cache;
    size_t buckets = 16;

    while (buckets < capacity)
        buckets *= 2;
    cache = calloc(1, sizeof(*cache) + buckets * sizeof(*cache->buckets));
    if (!cache)
        return NULL;
    cache->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cache->root < 0) {
        free(cache);
        return NULL;
    }
    cache->counters = counters;
    cache->capacity = capacity;
    cache->mask = (uint32_t)buckets - 1;
    return cache;
}

/* FNV-1a, 32 bits: short keys, no seed needed because only names of existing files are ever inserted. */
static uint32_t hash_path(const char *path, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 16777619u;
    return hash;
}

void file_cache_release(struct cached_file *file)
{
    if (--file->references > 0)
        return;
    close(file->fd);
    free(file);
}

static void unlink_order(struct file_cache *cache, struct cached_file *file)
{
    *(file->newer ? &file->newer->older : &cache->newest) = file->older;
    *(file->older ? &file->older->newer : &cache->oldest) = file->newer;
}

static void link_newest(struct file_cache *cache, struct cached_file *file)
{
    file->newer = NULL;
    file->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = file;
    cache->newest = file;
}

/* Takes an entry out of the table and gives back the table's reference. */
static void remove_file(struct file_cache *cache, struct cached_file *file)
{
    struct cached_file **link = &cache->buckets[file->hash & cache->mask];

    while (*link != file)
        link = &(*link)->chain;
    *link = file->chain;
    unlink_order(cache, file);
    cache->count--;
    file_cache_release(file);
}

void file_cache_destroy(struct file_cache *cache)
{
    while (cache->oldest)
        remove_file(cache, cache->oldest);
    close(cache->root);
    free(cache);
}

size_t file_cache_shed(struct file_cache *cache, size_t count)
{
    size_t shed = 0;

    for (struct cached_file *file = cache->oldest; file && shed < count;) {
        struct cached_file *next = file->newer;

        if (file->references == 1) {
            remove_file(cache, file);
            cache->counters->cache_evictions++;
            shed++;
        }
        file = next;
    }
    return shed;
}

static void insert_file(struct file_cache *cache, struct cached_file *file)
{
    struct cached_file **bucket = &cache->buckets[file->hash & cache->mask];

    if (cache->count == cache->capacity) {
        remove_file(cache, cache->oldest);
        cache->counters->cache_evictions++;
    }
    file->chain = *bucket;
    *bucket = file;
    link_newest(cache, file);
    file->references++;
    cache->count++;
}

static bool same_file(const struct cached_file *file, const struct stat *status)
{
    return file->device == status->st_dev && file->inode == status->st_ino &&
           file->size == (uint64_t)status->st_size && file->modified.tv_sec == status->st_mtim.tv_sec &&
           file->modified.tv_nsec == status->st_mtim.tv_nsec &&
           file->changed.tv_sec == status->st_ctim.tv_sec && file->changed.tv_nsec == status->st_ctim.tv_nsec;
}

/* Says whether the file that the entry holds is still the one at its path and unchanged. A path that now
 * leads outside the root is found by the opening that follows; here nothing is opened. */
static bool still_current(struct file_cache *cache, struct cached_file *file, time_t now)
{
    struct stat status;

    if (file->checked == now)
        return true;
    file->checked = now;
    return fstatat(cache->root, file->path, &status, 0) == 0 && same_file(file, &status);
}

static struct cached_file *find(struct file_cache *cache, const char *path, uint32_t hash)
{
    struct cached_file *file = cache->buckets[hash & cache->mask];

    while (file && (file->hash != hash || strcmp(file->path, path) != 0))
        file = file->chain;
    return file;
}

static enum http_status status_of_errno(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ENXIO: /* a socket */
        return HTTP_NOT_FOUND;
    case EACCES:
    case EXDEV: /* the path leads outside the root */
    case ELOOP:
        return HTTP_FORBIDDEN;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return HTTP_SERVICE_UNAVAILABLE;
    default:
        return HTTP_INTERNAL_SERVER_ERROR;
    }
}

/* Opens a file; when the descriptors have run out, gives back some that only the cache holds. */
static int open_file(struct file_cache *cache, const char *path)
{
    int fd = file_open_beneath(cache->root, path);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && file_cache_shed(cache, 16) > 0)
        fd = file_open_beneath(cache->root, path);
    return fd;
}

static struct cached_file *make_entry(const char *path, size_t length, int fd, const struct stat *status)
{
    char head[RESPONSE_HEAD_MAX];
    size_t date_offset;
    const size_t head_length =
        response_file_head(head, mime_type(path), (uint64_t)status->st_size, &date_offset);
    struct cached_file *file = malloc(sizeof(*file) + length + 1 + head_length);

    if (!file)
        return NULL;
    *file = (struct cached_file){
        .fd = fd,
        .size = (uint64_t)status->st_size,
        .head_length = head_length,
        .head = file->path + length + 1,
        .references = 1,
        .device = status->st_dev,
        .inode = status->st_ino,
        .modified = status->st_mtim,
        .changed = status->st_ctim,
    };
    memcpy(file->path, path, length + 1);
    memcpy(file->head, head, head_length);
    file->date = file->head + date_offset;
    return file;
}

/* Opens the file at `path` and makes an entry that is not in the table yet. */
static enum http_status load(struct file_cache *cache, const char *path, size_t length,
                             struct cached_file **file)
{
    enum http_status failure;
    struct stat status;
    const int fd = open_file(cache, path);

    if (fd < 0)
        return status_of_errno(errno);
    if (fstat(fd, &status) != 0)
        failure = HTTP_INTERNAL_SERVER_ERROR;
    else if (S_ISDIR(status.st_mode))
        failure = HTTP_MOVED_PERMANENTLY;
    else if (!S_ISREG(status.st_mode))
        failure = HTTP_FORBIDDEN;
    else if ((*file = make_entry(path, length, fd, &status)) == NULL)
        failure = HTTP_SERVICE_UNAVAILABLE;
    else
        return HTTP_OK;
    close(fd);
    return failure;
}

/* What to say of a directory without index: 403 if the directory exists, otherwise 404. */
static enum http_status missing_index(struct file_cache *cache, const char *directory)
{
    const int fd = open_file(cache, directory);

    if (fd < 0)
        return status_of_errno(errno);
    close(fd);
    return HTTP_FORBIDDEN;
}

enum http_status file_cache_get(struct file_cache *cache, const char *path, const struct http_date *date,
                                struct cached_file **found)
{
    char index_path[PATH_BYTES_MAX + sizeof(INDEX_NAME)];
    const char *directory = NULL;
    size_t length = strlen(path);
    struct cached_file *file;
    enum http_status status;
    uint32_t hash;

    if (length == 0 || path[length - 1] == '/') {
        directory = path;
        memcpy(index_path, path, length);
        memcpy(index_path + length, INDEX_NAME, sizeof(INDEX_NAME));
        path = index_path;
        length += sizeof(INDEX_NAME) - 1;
    }
    hash = hash_path(path, length);
    file = find(cache, path, hash);
    if (file && !still_current(cache, file, date->second)) {
        remove_file(cache, file);
        file = NULL;
    }
    if (file) {
        cache->counters->cache_hits++;
        if (file != cache->newest) {
            unlink_order(cache, file);
            link_newest(cache, file);
        }
        file->references++;
    } else {
        cache->counters->cache_misses++;
        status = load(cache, path, length, &file);
        if (status == HTTP_NOT_FOUND && directory)
            return missing_index(cache, directory);
        if (status == HTTP_MOVED_PERMANENTLY && directory)
            return HTTP_FORBIDDEN; /* index.html is itself a directory */
        if (status != HTTP_OK)
            return status;
        file->hash = hash;
        file->checked = date->second;
        insert_file(cache, file);
    }
    if (file->date_second != date->second) {
        memcpy(file->date, date->text, HTTP_DATE_LENGTH);
        file->date_second = date->second;
    }
    *found = file;
    return HTTP_OK;
}

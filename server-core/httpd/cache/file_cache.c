/*
 * See file_cache.h.
 */
#include "httpd/cache/file_cache.h"

#include "httpd/cache/file_open.h"
#include "httpd/cache/residency.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_NAME "index.html"
#define SETTLED_S  2 /* so long ago a file must have changed for its contents to be kept */

struct file_cache {
    struct file_table *table;
    bool joined; /* the table belongs to somebody else */
    struct file_table_user user;
    const struct hosts *hosts;
    const struct presentation *presentation;
};

struct file_cache *file_cache_join(struct file_table *table, unsigned holder, const struct hosts *hosts,
                                   const struct presentation *presentation, struct counters *counters)
{
    struct file_cache *cache = calloc(1, sizeof(*cache));

    if (cache)
        *cache = (struct file_cache){.table = table,
                                     .joined = true,
                                     .user = {holder, counters},
                                     .hosts = hosts,
                                     .presentation = presentation};
    return cache;
}

struct file_cache *file_cache_create(int root, size_t capacity, uint64_t contents_bytes,
                                     const struct hosts *hosts, const struct presentation *presentation,
                                     struct counters *counters)
{
    struct file_table *table = file_table_create(root, capacity, contents_bytes);
    struct file_cache *cache = table ? file_cache_join(table, 0, hosts, presentation, counters) : NULL;

    if (cache)
        cache->joined = false;
    else if (table)
        file_table_destroy(table);
    return cache;
}

void file_cache_destroy(struct file_cache *cache)
{
    if (!cache->joined)
        file_table_destroy(cache->table);
    free(cache);
}

void file_cache_release(struct cached_file *file)
{
    file_table_release(file);
}

size_t file_cache_shed(struct file_cache *cache, size_t count)
{
    return file_table_shed(cache->table, &cache->user, count);
}

static bool same_file(const struct cached_file *file, const struct stat *status)
{
    return file->device == status->st_dev && file->inode == status->st_ino &&
           file->size == (uint64_t)status->st_size && file->modified.tv_sec == status->st_mtim.tv_sec &&
           file->modified.tv_nsec == status->st_mtim.tv_nsec &&
           file->changed.tv_sec == status->st_ctim.tv_sec && file->changed.tv_nsec == status->st_ctim.tv_nsec;
}

/* Says whether files may lie compressed beside the one at `path`: a compressed one is compressed once. */
static bool may_have_codings(const struct file_cache *cache, const char *path)
{
    return cache->presentation->precompressed && !coding_has_suffix(path);
}

/* Returns in which codings the file at `path` lies compressed beside it, if such are wanted. One that was
 * made before the file last changed is of another version, and does not count. */
static unsigned find_codings(const struct file_cache *cache, const char *path, const struct stat *plain)
{
    int root = file_table_root(cache->table);
    const enum coding end = may_have_codings(cache, path) ? CODING_COUNT : 0;
    unsigned codings = 0;

    path = hosts_locate(cache->hosts, path, &root);
    for (enum coding coding = 0; coding < end; coding++) {
        char beside[FILE_CACHE_PATH_MAX];
        struct stat status;

        snprintf(beside, sizeof(beside), "%s%s", path, CODINGS[coding].suffix);
        if (fstatat(root, beside, &status, 0) == 0 && S_ISREG(status.st_mode) &&
            status.st_mtim.tv_sec >= plain->st_mtim.tv_sec)
            codings |= CODING_BIT(coding);
    }
    return codings;
}

/*
 * Reads the contents of a small file into its entry, if they are in memory: whoever serves does not wait for
 * a disk here. Contents that are kept do not change with the file, and a further change in the same tick of
 * the clock could not be told by its times. So those of a file that has changed just now are not kept.
 */
static void read_contents(struct cached_file *file, time_t now)
{
    const off_t size = (off_t)file->size;

    if (now - file->changed.tv_sec >= SETTLED_S && file_table_wants_contents(file))
        file_table_contents_read(file, residency_check(file->fd, 0, size) &&
                                           pread(file->fd, file->contents, file->size, 0) == size);
}

/* Says whether the file that the entry holds is still the one at its path and unchanged. A path that now
 * leads outside the root is found by the opening that follows; here nothing is opened. */
static bool still_current(struct file_cache *cache, struct cached_file *file, time_t now)
{
    int root = file_table_root(cache->table);
    const char *path = hosts_locate(cache->hosts, file->path, &root);
    struct stat status;

    if (atomic_load_explicit(&file->checked, memory_order_relaxed) == now ||
        atomic_exchange_explicit(&file->checked, now, memory_order_relaxed) == now)
        return true;
    if (fstatat(root, path, &status, 0) != 0 || !same_file(file, &status) ||
        find_codings(cache, file->path, &status) != file->codings)
        return false;
    read_contents(file, now);
    return true;
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
    int root = file_table_root(cache->table);
    const char *name = hosts_locate(cache->hosts, path, &root);
    int fd = file_open_beneath(root, name);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && file_cache_shed(cache, 16) > 0)
        fd = file_open_beneath(root, name);
    return fd;
}

static struct cached_file *insert(struct file_cache *cache, const char *path, int fd,
                                  const struct stat *status, time_t now)
{
    char head[RESPONSE_HEAD_MAX], lines[PRESENTATION_LINES_MAX];
    struct validators validators;
    struct cached_file file = {
        .fd = fd,
        .size = (uint64_t)status->st_size,
        .checked = now,
        .device = status->st_dev,
        .inode = status->st_ino,
        .modified = status->st_mtim,
        .changed = status->st_ctim,
        .codings = find_codings(cache, path, status),
    };

    validators_make(&validators, file.size, file.modified, "");
    file.expires_s = presentation_lines(cache->presentation, path, CODING_NONE, file.codings, now, lines);
    file.head_length =
        response_file_head(head,
                           &(struct file_response){.status = HTTP_OK,
                                                   .type = mime_type(cache->presentation->types, path),
                                                   .length = file.size,
                                                   .validators = &validators,
                                                   .now = now,
                                                   .more = lines},
                           &file.date_offset);
    if (file.expires_s >= 0) /* it is the last line */
        file.expires_offset = file.head_length - strlen("\r\n\r\n") - HTTP_DATE_LENGTH;
    return file_table_insert(cache->table, &cache->user, path, &file, head);
}

/* Opens the file at `path` and puts it into the table. */
static enum http_status load(struct file_cache *cache, const char *path, time_t now,
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
    else if ((*file = insert(cache, path, fd, &status, now)) == NULL)
        failure = HTTP_SERVICE_UNAVAILABLE;
    else {
        read_contents(*file, now);
        return HTTP_OK;
    }
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

/* Returns the path of the file that a path stands for: that of a directory stands for its index, whose path
 * is written to `index`. */
static const char *file_path(const char *path, char index[FILE_CACHE_PATH_MAX])
{
    const size_t length = strlen(path);

    if (length > 0 && path[length - 1] != '/')
        return path;
    memcpy(index, path, length);
    memcpy(index + length, INDEX_NAME, sizeof(INDEX_NAME));
    return index;
}

const char *file_cache_locate(const struct file_cache *cache, const char *wanted, int *root)
{
    *root = file_table_root(cache->table);
    return hosts_locate(cache->hosts, wanted, root);
}

bool file_cache_would_wait(struct file_cache *cache, const char *path, const struct http_date *date,
                           uint8_t *asked, char wanted[FILE_CACHE_PATH_MAX], struct cached_file **file)
{
    const char *name = file_path(path, wanted);
    struct cached_file *known = file_table_find(cache->table, &cache->user, name);
    unsigned names;
    size_t length;

    if (known && atomic_load_explicit(&known->checked, memory_order_relaxed) == date->second) {
        cache->user.counters->cache_hits++;
        *file = known;
        *asked = 0;
        return false;
    }
    if (known && *asked == 0)
        *asked = 1; /* an open file keeps the names that lead to it in the kernel's cache */
    if (known)
        file_cache_release(known);
    if (name != wanted)
        strcpy(wanted, name);
    names = may_have_codings(cache, wanted) ? 1 + CODING_COUNT : 1;
    length = strlen(wanted);
    while (*asked < names) {
        int root;

        if (*asked > 0)
            strcpy(wanted + length, CODINGS[*asked - 1].suffix);
        name = file_cache_locate(cache, wanted, &root);
        ++*asked;
        if (file_open_would_wait(root, name))
            return true;
    }
    *asked = 0;
    return false;
}

enum http_status file_cache_get(struct file_cache *cache, const char *path, const struct http_date *date,
                                struct cached_file **found)
{
    char index[FILE_CACHE_PATH_MAX];
    const char *name = file_path(path, index);
    const char *directory = name == index ? path : NULL;
    struct counters *counters = cache->user.counters;
    struct cached_file *file;
    enum http_status status;

    file = file_table_find(cache->table, &cache->user, name);
    if (file && !still_current(cache, file, date->second)) {
        file_table_remove(cache->table, &cache->user, file);
        file_cache_release(file);
        file = NULL;
    }
    if (file) {
        counters->cache_hits++;
    } else {
        counters->cache_misses++;
        status = load(cache, name, date->second, &file);
        if (status == HTTP_NOT_FOUND && directory)
            return missing_index(cache, directory);
        if (status == HTTP_MOVED_PERMANENTLY && directory)
            return HTTP_FORBIDDEN; /* index.html is itself a directory */
        if (status != HTTP_OK)
            return status;
    }
    *found = file;
    return HTTP_OK;
}

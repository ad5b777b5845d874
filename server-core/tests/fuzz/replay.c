/*
 * Runs a fuzz target over the files of a directory: the inputs that have been interesting once.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

static void run_file(const char *directory, const char *name)
{
    static uint8_t data[1 << 20];
    char path[4096];
    FILE *file;
    uint8_t *exact;
    size_t size;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "rb");
    REQUIRE(file);
    size = fread(data, 1, sizeof(data), file);
    fclose(file);
    exact = malloc(size ? size : 1); /* so that the sanitizer sees a read behind the end */
    REQUIRE(exact);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    printf("%s\n", path);
}

int main(int argc, char **argv)
{
    unsigned count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);

        REQUIRE(directory);
        for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
            if (entry->d_name[0] == '.')
                continue;
            run_file(argv[i], entry->d_name);
            count++;
        }
        closedir(directory);
    }
    REQUIRE(count > 0);
    return 0;
}

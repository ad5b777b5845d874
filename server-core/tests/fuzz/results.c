/*
 * Results that are read back: one that is taken adds up; one that is refused comes with a sentence.
 */
#include "loadgen/result_file.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct loaded_result result;
    char path[64], error[512] = "";
    const int fd = memfd_create("result", MFD_CLOEXEC);

    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (result_file_read(&result, path, error, sizeof(error)))
        REQUIRE(account_balanced(result.account));
    else
        REQUIRE(error[0] != '\0');
    result_file_free(&result);
    close(fd);
    return 0;
}

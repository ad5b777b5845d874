/*
 * See identity.h.
 */
#include "httpd/config/identity.h"

#include "httpd/log.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct identity {
    uid_t uid;
    gid_t gid;
    int group_count; /* of the supplementary ones; gid is among them */
    gid_t groups[];
};

/* Makes the identity of a user with all groups that it is a member of. Returns NULL when there is no memory.
 */
static struct identity *make(const char *user, uid_t uid, gid_t gid)
{
    struct identity *identity;
    int count = 0;

    getgrouplist(user, gid, NULL, &count); /* says how many they are */
    identity = calloc(1, sizeof(*identity) + (size_t)count * sizeof(*identity->groups));
    if (!identity)
        return NULL;
    identity->uid = uid;
    identity->gid = gid;
    identity->group_count = count;
    getgrouplist(user, gid, identity->groups, &identity->group_count);
    return identity;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {0};

    return syscall(SYS_capset, &header, none) == 0;
}

bool identity_assume(const struct identity *identity)
{
    /* Whoever changes its user is forbidden to leave a core or to be traced, which is for programs that are
     * executed with another's rights; a worker that crashes is to be looked into by who it serves as. */
    if (identity && (setgroups((size_t)identity->group_count, identity->groups) != 0 ||
                     setresgid(identity->gid, identity->gid, identity->gid) != 0 ||
                     setresuid(identity->uid, identity->uid, identity->uid) != 0 ||
                     prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)) {
        log_errno("cannot serve as user %u", identity->uid);
        return false;
    }
    if (geteuid() != 0 && (!drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)) {
        log_errno("cannot give up rights");
        return false;
    }
    return true;
}

/* Says whether the account may enter a directory, whose path begins at descriptor `at`: a child tries. */
static bool may_enter(const struct identity *identity, int at, const char *directory)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(!identity_assume(identity) || faccessat(at, directory, X_OK, 0) != 0);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Says whether the account may enter all roots. The master has opened them, so no matter in what
 * directories they lie. Logs those that it may not. */
static bool may_enter_roots(const struct config *config, const struct identity *identity)
{
    static const char sentence[] = "the user that is to serve may not enter it";
    bool ok = may_enter(identity, config->root, ".") || config_refuse(config, KNOB_ROOT, sentence);

    for (size_t i = 0; i < config->hosts.count; i++) {
        const struct host *host = &config->hosts.all[i];

        if (may_enter(identity, host->fd, "."))
            continue;
        log_error("%s: [host %.100s]: root = %s: %s", host->origin, host->names, host->root, sentence);
        ok = false;
    }
    return ok;
}

bool identity_find(const struct config *config, struct identity **identity)
{
    const char *user = config_text(config, KNOB_USER);
    const char *group = config_text(config, KNOB_GROUP);
    const struct passwd *account = user ? getpwnam(user) : NULL;
    const struct group *named = group ? getgrnam(group) : NULL;

    *identity = NULL;
    if (!user)
        return true;
    if (!account)
        return config_refuse(config, KNOB_USER, "there is no such user");
    if (group && !named)
        return config_refuse(config, KNOB_GROUP, "there is no such group");
    if (geteuid() != 0) {
        log_warning("user = %s: only root can serve as somebody else; who has started the server serves",
                    user);
        return true;
    }
    *identity = make(user, account->pw_uid, named ? named->gr_gid : account->pw_gid);
    if (!*identity) {
        log_errno("cannot look up user %s", user);
        return false;
    }
    return may_enter_roots(config, *identity);
}

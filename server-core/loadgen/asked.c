/*
 * See asked.h.
 */
#include "asked.h"

#include "common/clock.h"
#include "content.h"
#include "random.h"

/* Heavy-tailed distributions now and then give pauses that no session lives to see. */
#define PAUSE_MAX_S 1e6

struct asked asked_draw(struct connections *all, uint32_t request)
{
    return (struct asked){
        .conditional = all->conditional_share > 0 &&
                       random_uniform(&all->random_state) <= all->conditional_share &&
                       connection_kind(all, request)->conditional_text != NULL,
        .verifying = all->verify_every > 0 && all->verify_count++ % all->verify_every == 0,
    };
}

void asked_learn(struct connections *all, uint32_t request, const struct reply_head *head)
{
    struct request_kind *kind = connection_kind(all, request);

    if (all->conditional_share > 0 && kind->conditional_text == NULL && head->status == 200 &&
        kind->method == METHOD_GET)
        request_kind_learn(kind, head);
}

void asked_look(const struct connections *all, struct asked *asked, uint32_t request, unsigned status,
                uint64_t offset, const char *data, size_t length)
{
    if (asked->verifying && !asked->wrong && status == 200)
        asked->wrong = !content_matches(connection_kind(all, request)->content_key, offset, data, length);
}

bool asked_account(struct connections *all, const struct asked *asked, uint32_t request, uint64_t intended_ns,
                   const struct reply_head *head)
{
    struct request_kind *kind = connection_kind(all, request);
    bool unchanged = asked->conditional && head->status == 304; /* RFC 9110 §15.4.5: has no body */
    uint64_t size = kind->size != SIZE_UNKNOWN                     ? kind->size
                    : unchanged                                    ? kind->learnt_size
                    : head->content_length != REPLY_LENGTH_UNKNOWN ? head->content_length
                                                                   : 0;

    all->account->replies_by_status[head->status]++;
    if ((head->status < 200 || head->status > 299) && !unchanged)
        account_failure(all->account, FAILURE_STATUS, head->status, connection_planned_size(all, request));
    else if (kind->size != SIZE_UNKNOWN && head->content_length != kind->size && !unchanged)
        account_failure(all->account, FAILURE_WRONG_LENGTH, 0, size);
    else if (asked->wrong)
        account_failure(all->account, FAILURE_WRONG_CONTENT, 0, size);
    else {
        all->account->replies_verified += asked->verifying && head->body_bytes > 0;
        if (all->conditional_share > 0 && kind->learnt_size == 0 && !unchanged)
            kind->learnt_size = size; /* which no head has told */
        account_reply(all->account, intended_ns, all->received_ns, head->head_bytes + head->body_bytes, size);
        return true;
    }
    return false;
}

uint64_t asked_pause_ns(struct connections *all, uint32_t request)
{
    const struct planned_request *planned = &all->plan->requests[request];
    double pause_s = 0;

    if (all->closed_loop)
        return 0;
    if (planned->think_given)
        return planned->think_us * NS_PER_US;
    if (planned[1].in_burst && all->active_off.shape > 0)
        pause_s = random_weibull(&all->random_state, all->active_off.shape, all->active_off.scale);
    if (!planned[1].in_burst && all->inactive_off.shape > 0)
        pause_s = random_pareto(&all->random_state, all->inactive_off.shape, all->inactive_off.scale);
    return clock_seconds_to_ns(pause_s < PAUSE_MAX_S ? pause_s : PAUSE_MAX_S);
}

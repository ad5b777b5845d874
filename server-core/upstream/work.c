/*
 * See work.h.
 */
#include "work.h"

#include "common/clock.h"

/* A request is late that ends a tenth of its time, and a millisecond at least, after its time. */
#define LATE_NS    NS_PER_MS
#define LATE_SHARE 10

static bool has_place(const struct work *work)
{
    return work->concurrency == 0 || work->in_service.count < work->concurrency;
}

static void begin(struct work *work, struct job *job, uint64_t now_ns)
{
    work->counts.wait_us += (now_ns - job->came_ns) / NS_PER_US;
    work->counts.service_us += job->service_ns / NS_PER_US;
    job->in_service = true;
    alarm_heap_add(&work->in_service, &job->alarm, now_ns + job->service_ns);
}

static void leave_line(struct work *work, struct job *job)
{
    *(job->previous == NULL ? &work->first : &job->previous->next) = job->next;
    *(job->next == NULL ? &work->last : &job->next->previous) = job->previous;
    job->waits = false;
    work->queued--;
}

static void join_line(struct work *work, struct job *job)
{
    job->next = NULL;
    job->previous = work->last;
    *(work->last == NULL ? &work->first : &work->last->next) = job;
    work->last = job;
    job->waits = true;
    work->counts.waited++;
    if (++work->queued > work->counts.queue_length_max)
        work->counts.queue_length_max = work->queued;
}

void work_take(struct work *work, struct job *job, uint64_t service_us, uint64_t now_ns)
{
    *job = (struct job){.service_ns = service_us * NS_PER_US, .came_ns = now_ns};
    work->counts.requests++;
    if (has_place(work))
        begin(work, job, now_ns);
    else
        join_line(work, job);
}

static void end(struct work *work, struct job *job, uint64_t now_ns)
{
    alarm_heap_remove(&work->in_service, &job->alarm);
    job->in_service = false;
    struct job *next = work->first;
    if (next != NULL && has_place(work)) {
        leave_line(work, next);
        begin(work, next, now_ns);
    }
}

void work_drop(struct work *work, struct job *job, uint64_t now_ns)
{
    if (job->waits)
        leave_line(work, job);
    else if (job->in_service)
        end(work, job, now_ns);
}

struct job *work_next_done(struct work *work, uint64_t now_ns)
{
    struct alarm *first = alarm_heap_first(&work->in_service);

    if (first == NULL || first->due_ns > now_ns)
        return NULL;
    struct job *job = container_of(first, struct job, alarm);
    uint64_t may_take_ns = job->service_ns / LATE_SHARE > LATE_NS ? job->service_ns / LATE_SHARE : LATE_NS;
    work->counts.done++;
    work->counts.late += now_ns - first->due_ns > may_take_ns;
    end(work, job, now_ns);
    return job;
}

uint64_t work_due_ns(const struct work *work)
{
    return alarm_heap_due_ns(&work->in_service);
}

/* What the kernel writes when a thread has ended: its number, which others wait for (also the first thread's, and
 * without a system call), and the locks that it held. It ends with 0 if all was as the kernel promises. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCKS = 3, TIMES = 40 };

static pthread_mutex_t locks[LOCKS];
static pthread_t first;
static _Atomic int number;
static char stack[1 << 16] __attribute__((aligned(16)));

static int ends(void *nothing)
{
    (void)nothing;
    syscall(SYS_set_robust_list, NULL, sizeof(struct robust_list_head));
    return 0;
}

/* Looked at until it is 0. */
static int without_a_call(void)
{
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    for (int i = 0; i < TIMES; i++) {
        number = 1;
        if (clone(ends, stack + sizeof stack, flags, NULL, NULL, NULL, (void *)&number) < 0) return 1;
        while (number) sched_yield();
    }
    return 0;
}

static void *dies(void *turn)
{
    for (long i = 0; i < LOCKS; i++)
        if (i != (long)turn % LOCKS) pthread_mutex_lock(&locks[i]);
    return NULL;
}

static int with_locks(void)
{
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], &robust);
    for (long turn = 0; turn < TIMES; turn++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, dies, (void *)turn)) return 1;
        pthread_join(thread, NULL);
        for (long i = 0; i < LOCKS; i++) {
            int said = pthread_mutex_lock(&locks[i]);
            if (said != (i != turn % LOCKS ? EOWNERDEAD : 0)) return 1;
            if (said) pthread_mutex_consistent(&locks[i]);
            pthread_mutex_unlock(&locks[i]);
        }
    }
    return 0;
}

/* The first thread gave its number's address itself (`set_tid_address`). */
static void *outlives(void *nothing)
{
    if (pthread_join(first, NULL)) exit(2);
    exit(0);
    return nothing;
}

int main(void)
{
    if (without_a_call() || with_locks()) return 1;
    first = pthread_self();
    pthread_t other;
    if (pthread_create(&other, NULL, outlives, NULL)) return 1;
    pthread_exit(NULL);
}

/* awaited MODE: memory that changes while a thread waits, and is loaded before anybody tells of it. 0: by the call that
 * waits. 1: by nothing that is told; what waits has memory of its own. 2: so, and the call that waits only reads there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned char here[1 << 17], there[1 << 17];
static int in, out, mode, sum;

static void *waits(void *none)
{
    if (mode == 2) write(out, (void *)here, sizeof here);
    else read(in, (void *)((mode ? there : here) + 40), 8);
    return none;
}

int main(int count, char **word)
{
    pthread_t thread;
    int ends[2];
    mode = count > 1 ? atoi(word[1]) : 0;
    if (pipe(ends)) return 1;
    in = ends[0], out = ends[1];
    memset((void *)here, 1, sizeof here);
    for (unsigned i = 0; i < 64; i++) sum += here[i];
    pthread_create(&thread, NULL, waits, NULL);
    /* It is on its way: that takes no time. */
    usleep(200000);
    if (mode == 0) {
        if (write(out, "12345678", 8) != 8) return 2;
        /* The thread has its bytes, and is not back before this one is interrupted. */
        while (here[47] == 1) ;
        for (unsigned i = 36; i < 52; i++) sum += here[i];
        pthread_join(thread, NULL);
        return sum == 0;
    }
    int memory = open("/proc/self/mem", O_RDWR);
    if (memory < 0 || lseek(memory, (off_t)(here + 45), SEEK_SET) < 0 || write(memory, "x", 1) != 1) return 77;
    for (unsigned i = 40; i < 48; i++) sum += here[i];
    return sum == 0;
}

/* Two threads and a mutex: data crosses from one thread to another. */
#include <pthread.h>
#define NOINLINE __attribute__((noinline, noclone))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared[8], total;
NOINLINE static void produce(int from, int n) { for (int i = from; i < n; i++) shared[i] = i * 3; }
NOINLINE static int consume(int from, int n) { int s = 0; for (int i = from; i < n; i++) s += shared[i]; return s; }
static void *worker(void *half) {
    int from = half ? 4 : 0, sum = consume(from, from + 4);
    pthread_mutex_lock(&lock);
    total += sum;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t first, second;
    produce(0, 8);
    pthread_create(&first, 0, worker, 0);
    pthread_create(&second, 0, worker, shared);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return total == 84 ? 0 : 1;
}

// Loops that are left by longjmp, by exceptions and for signals, with calls of themselves in them, in several threads.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <pthread.h>
#define NOINLINE __attribute__((noinline, noclone))

static int table[4096];
static long total;
static jmp_buf back;
static volatile int caught;

NOINLINE int leaf(int i) {
    int s = 0;
    for (int j = 0; j < 5; j++) {
        table[(i * 7 + j) & 4095] += j;
        s += table[(i + j) & 4095];
    }
    return s;
}

NOINLINE int recurse(int depth, int i) {
    int s = 0;
    for (int j = 0; j < 3; j++) {
        table[j + depth] ^= s;
        if (depth > 0) s += recurse(depth - 1, i + j);
        s += leaf(i + j);
    }
    return s;
}

NOINLINE void jump(int i) {
    for (int j = 0;; j++) {
        total += table[j & 4095];
        if (j == i % 37) longjmp(back, 1);
    }
}

NOINLINE int jumping(int n) {
    int s = 0;
    for (volatile int i = 0; i < n; i++) {
        if (!setjmp(back)) jump(i);
        s += leaf(i);
    }
    return s;
}

NOINLINE void thrower(int i) {
    for (int j = 0; j < 50; j++) {
        total ^= j;
        if (j == i % 41) throw i;
    }
}

NOINLINE int throwing(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        try {
            thrower(i);
        } catch (int e) {
            s += e;
        }
    }
    return s;
}

NOINLINE void handler(int) {
    for (int j = 0; j < 10; j++) caught = caught + table[j];
}

NOINLINE int signals(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        raise(SIGUSR1);
        s += caught;
    }
    return s;
}

NOINLINE void *worker(void *of) {
    long id = reinterpret_cast<long>(of), s = 0;
    for (int i = 0; i < 3000; i++) {
        table[(i + id) & 4095] += static_cast<int>(s);
        s += table[(i * 3) & 4095];
        if (i % 100 == 0) s += leaf(i);
    }
    total += s;
    return nullptr;
}

NOINLINE int rounds() {
    int s = 0;
    for (int r = 0; r < 3; r++) s += recurse(3, r) + jumping(20) + throwing(8) + signals(10);
    return s;
}

int main() {
    signal(SIGUSR1, handler);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], nullptr, worker, reinterpret_cast<void *>(i));
    int s = rounds();
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    return s + total == 42;
}

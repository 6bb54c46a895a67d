// Allocates in C++ and says so, as allocations.c.
#include "say.h"
#include <memory>
#include <new>
#include <string>
#include <vector>

struct point {
    int x, y;
    virtual ~point() {}
};

struct alignas(128) wide {
    char bytes[256];
};

static volatile int sum;

template <typename T> static T *got(const char *what, T *p, size_t bytes) {
    say(what, p, bytes);
    return p;
}

static void gone(void *p) {
    say("free", p, 0);
}

static void single() {
    point *p = got("operator new", new point{}, sizeof(point));
    p->x = 3;
    sum = sum + p->x;
    gone(p);
    delete p;
    std::unique_ptr<int> q(got("operator new", new (std::nothrow) int(5), sizeof(int)));
    sum = sum + *q;
    gone(q.get());
}

static void arrays() {
    int *p = got("operator new[]", new int[100], 100 * sizeof(int));
    for (int i = 0; i < 50; i++)
        p[i] = i;
    for (int i = 0; i < 20; i++)
        sum = sum + p[i];
    gone(p);
    delete[] p;
}

static void in_place() {
    alignas(point) static char room[sizeof(point)];
    point *p = new (room) point{};
    p->y = 4;
    sum = sum + p->y;
    p->~point();
}

static void wider() {
    wide *p = got("operator new", new wide, sizeof(wide));
    p->bytes[255] = 1;
    gone(p);
    delete p;
}

static void vectors() {
    std::vector<long> v;
    v.reserve(10);
    got("operator new", v.data(), 10 * sizeof(long));
    for (long i = 0; i < 10; i++)
        v.push_back(i);
    long *old = v.data();
    v.reserve(100);
    got("operator new", v.data(), 100 * sizeof(long));
    gone(old);
    std::string s(100, 'x');
    got("operator new", &s[0], 101);
    sum = sum + s[50] + v[9];
    gone(&s[0]);
    gone(v.data());
}

int main() {
    single();
    arrays();
    in_place();
    wider();
    vectors();
    got("operator new", new long(7), sizeof(long));
    return 0;
}

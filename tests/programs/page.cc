// Two threads fill a vector, main sorts a part of it and adds it up: loops whose condition is a library's inlined code, data between
// threads, and a start-up that is longer than the program.
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

static std::vector<int> values(3000);

__attribute__((noinline)) void fill(int from, int to) {
    for (int i = from; i < to; i++) values[i] = (i * 7919) % 3001;
}

__attribute__((noinline)) void bubble(int count) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k + 1 < count - i; k++)
            if (values[k] > values[k + 1]) std::swap(values[k], values[k + 1]);
}

__attribute__((noinline)) long total() {
    long sum = 0;
    for (int value : values) sum += value;
    return sum;
}

int main() {
    std::thread one(fill, 0, 1500), two(fill, 1500, 3000);
    one.join();
    two.join();
    bubble(120);
    std::printf("%ld\n", total());
}

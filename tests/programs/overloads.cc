// Overloads whose signatures have commas and asterisks, a variable that another file has by the same name, and data that one function
// copies twice.
#include <cstdlib>

#define KERNEL __attribute__((noinline, noclone)) static

KERNEL void f(unsigned char *to, int n) {
    for (int i = 0; i < n; i++) to[i] = static_cast<unsigned char>(i * 3);
}

KERNEL int f(unsigned char *from, int n, int factor) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += from[i] * factor;
    return sum;
}

KERNEL int same(unsigned char *from, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += from[i];
    return sum;
}

int main() {
    auto *data = static_cast<unsigned char *>(std::malloc(4096));
    f(data, 4096);
    volatile int result = f(data, 100, 2) + same(data, 4096);
    return 0 * result;
}

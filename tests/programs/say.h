/* Lines of output by write(), which allocates nothing. */
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

static char *spell(char *out, uintptr_t n) {
    char digits[24];
    int count = 0;
    do {
        digits[count++] = "0123456789abcdef"[n % 16];
        n /= 16;
    } while (n);
    while (count)
        *out++ = digits[--count];
    return out;
}

/* What was called, address, bytes: in hexadecimal. */
__attribute__((noinline, noclone)) static void say(const char *what, void *p, size_t bytes) {
    char line[80], *out = line;
    while (*what)
        *out++ = *what++;
    *out++ = ' ';
    out = spell(out, (uintptr_t)p);
    *out++ = ' ';
    out = spell(out, bytes);
    *out++ = '\n';
    if (write(1, line, out - line) < 0)
        _exit(3);
}

/* Code that is written at run time, called, and written anew in the same place. */
#include <string.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noinline, noclone))
typedef int (*Made)(int);
/* lea N(%rdi),%eax; mov %eax,-8(%rsp); mov -8(%rsp),%eax; ret */
static const unsigned char code[] = {0x8d, 0x47, 0, 0x89, 0x44, 0x24, 0xf8, 0x8b, 0x44, 0x24, 0xf8, 0xc3};
NOINLINE static void emit(unsigned char *at, int n) { memcpy(at, code, sizeof code); at[2] = n; }
NOINLINE static int run(Made made, int n) { return made(n) + made(n + 1); }
int main(void) {
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 2;
    emit(page, 3);
    emit(page + 64, 5);
    int sum = run((Made)page, 10) + run((Made)(page + 64), 20);
    return sum == 13 + 14 + 25 + 26 ? 0 : 1;
}

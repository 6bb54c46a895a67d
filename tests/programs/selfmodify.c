/* Code that is written, run, changed and run again: one address, two instructions. x86-64 and AArch64. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#if defined __x86_64__
static const unsigned char one[] = { 0xb8, 1, 0, 0, 0, 0xc3 }, two[] = { 0xb8, 2, 0, 0, 0, 0xc3 }; /* mov $N, %eax; ret */
#elif defined __aarch64__
static const unsigned one[] = { 0x52800020, 0xd65f03c0 }, two[] = { 0x52800040, 0xd65f03c0 }; /* mov w0, #N; ret */
#endif
int main(void) {
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*run)(void) = (int (*)(void))code;
    memcpy(code, one, sizeof one);
    __builtin___clear_cache(code, code + sizeof one);
    int r = run();
    memcpy(code, two, sizeof two);
    __builtin___clear_cache(code, code + sizeof two);
    return r * 10 + run() == 12 ? 0 : 1;
}

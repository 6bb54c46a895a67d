/* Memory that the allocator gives back to the system and gets again: zeros that nobody wrote. */
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 300
static volatile int sum;

__attribute__((noinline)) static void fill(char *p, int n)
{
    for (int i = 0; i < n; i++) ((volatile char *)p)[i] = i;
}

__attribute__((noinline)) static void use(const char *p, int n)
{
    for (int i = 0; i < n; i++) sum += ((const volatile char *)p)[i];
}

int main(void)
{
    static char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) fill(block[i] = malloc(1000), 1000);
    for (int i = 0; i < BLOCKS; i++) free(block[i]);
    char *all = calloc(1, 130000);
    use(all, 130000);
    free(all);
    return 0;
}

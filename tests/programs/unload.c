/* Loads a library, calls what it has, unloads it, and does the same with another one, which is put in
 * the place of the first. */
#include <dlfcn.h>
#include <stdio.h>

int main(int arguments, char **argument)
{
    int total = 0;
    for (int i = 1; i + 1 < arguments; i += 2) {
        void *library = dlopen(argument[i], RTLD_NOW);
        if (!library) return 101;
        int (*work)(int) = (int (*)(int))dlsym(library, argument[i + 1]);
        total += work(i);
        dlclose(library);
    }
    printf("%d\n", total);
    return 0;
}

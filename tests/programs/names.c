/* Four stages that hand data on, whose names the compiler's command line gives (-DA=init ...): the picture of the run must not
 * depend on them. In C++ -DSPACE=core puts them into a namespace. With -DPART=1 they are a library, with -DPART=2 the program
 * that calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 4096
#define STAGE __attribute__((noinline, noclone))
#ifdef SPACE
#define OPEN namespace SPACE {
#define CLOSE }
#define IN(name) SPACE::name
#else
#define OPEN
#define CLOSE
#define IN(name) name
#endif
#ifdef PART
#define LOCAL
#else
#define LOCAL static
#endif

OPEN
LOCAL void A(unsigned *table, const unsigned char *text, int count);
LOCAL void B(unsigned *to, const unsigned *from, int count);
LOCAL void C(unsigned *table, int count);
LOCAL unsigned D(const unsigned *table, int count);

#if !defined PART || PART == 1
/* Begins with what the file has. */
STAGE LOCAL void A(unsigned *table, const unsigned char *text, int count) {
    for (int i = 0; i < count; i++) {
        unsigned hash = text[i];
        for (int k = 0; k < 12; k++)
            hash = hash * 31 + (hash >> 3) + (unsigned)i;
        table[i] = hash;
    }
}

/* Copies in an order of its own. */
STAGE LOCAL void B(unsigned *to, const unsigned *from, int count) {
    for (int i = 0; i < count; i++)
        to[(i * 5) % count] = from[i] ^ 0x5555u;
}

/* A few rounds of a network of comparisons. */
STAGE LOCAL void C(unsigned *table, int count) {
    for (int far = count / 2; far > 0; far /= 2)
        for (int i = 0; i + far < count; i++)
            if (table[i] > table[i + far]) {
                unsigned kept = table[i];
                table[i] = table[i + far];
                table[i + far] = kept;
            }
}

STAGE LOCAL unsigned D(const unsigned *table, int count) {
    unsigned sum = 0;
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < count; i++)
            sum = sum * 33 + table[i];
    return sum;
}
#endif
CLOSE

#if !defined PART || PART == 2
int main(int argc, char **argv) {
    static unsigned char text[COUNT];
    static unsigned first[COUNT], second[COUNT];
    FILE *file = fopen(argc > 1 ? argv[1] : "/dev/zero", "rb");
    if (!file || fread(text, 1, COUNT, file) != COUNT)
        return 1;
    fclose(file);
    IN(A)(first, text, COUNT);
    IN(B)(second, first, COUNT);
    IN(C)(second, COUNT);
    printf("%u\n", IN(D)(second, COUNT));
    return 0;
}
#endif

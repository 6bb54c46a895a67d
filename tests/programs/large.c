/* So much memory that tables of pairs and readers have millions of bytes: two functions, of which one has called the
 * other, read one byte of each 64, or each byte of some of these. */
enum { LINES = 1 << 17, LINE = 64 };

static volatile unsigned char bytes[LINES * LINE];

#define APART __attribute__((noinline))

APART static void fill(void)
{
    for (int i = 0; i < LINES; i++) bytes[i * LINE] = i;
}

APART static int below(void)
{
    int sum = 0;
    for (int i = 0; i < LINES; i++) sum += bytes[i * LINE];
    return sum;
}

APART static int above(void)
{
    int sum = 0;
    for (int i = 0; i < LINES; i += 2) sum += bytes[i * LINE];
    sum += below();
    /* What it has read itself, and what it has not. */
    for (int i = 0; i < LINES; i += 3) sum += bytes[i * LINE];
    return sum;
}

int main(void)
{
    fill();
    return above() & 1;
}

/* A table with one wrong entry: the fifth square should be 25. The result is wrong because of it. */
#define NOINLINE __attribute__((noinline, noclone))

static volatile int table[8];
static volatile int unrelated[8];
static volatile int result;

NOINLINE static void fill(int *squares)
{
    for (int i = 0; i < 8; i++)
        squares[i] = i * i;
    squares[5] = 26; /* planted */
}

NOINLINE static void other(void)
{
    for (int i = 0; i < 8; i++)
        unrelated[i] = i + 77; /* innocent */
}

NOINLINE static int sum(const int *squares, int count)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += squares[i];
    return total;
}

NOINLINE static int choose(int value)
{
    if (value > 140) /* decides */
        return 1;
    return 0;
}

int main(void)
{
    int copy[8];
    fill((int *)table);
    other();
    for (int i = 0; i < 8; i++)
        copy[i] = table[i];
    int total = sum(copy, 8);
    unrelated[0] = choose(7); /* so that the branch goes both ways */
    result = choose(total);
    return result;
}

/* What is sent again with the value that it had: 4 rounds, each of which writes all of a packet anew, of which `work` reads all and
   writes a result anew. Volatile, so that each access of the source is one of the run. */
static volatile unsigned char packet[16];
static volatile unsigned result, seen;

/* The first 12 bytes are the same in each round. */
__attribute__((noinline)) static void fill(unsigned payload)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned value = i < 12 ? 7 * i : payload;
        packet[i] = value;
    }
}

/* 462 and four times the payload: 466, 466, 470, 474. */
__attribute__((noinline)) static void work(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 16; i++)
        sum += packet[i];
    result = sum;
}

int main(void)
{
    for (unsigned round = 0; round < 4; round++) {
        fill(round < 2 ? 1 : round);
        work();
        seen = result;
    }
    return 0;
}

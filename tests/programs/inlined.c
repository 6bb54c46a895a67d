/* Functions that are always inlined, one of them within another. */
static volatile int in[64];
static volatile int out;
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
static inline __attribute__((always_inline)) int both(int x, int y) {
    return square(x) + square(y);
}
__attribute__((noinline)) static int sum(void) {
    int s = 0;
    for (int i = 0; i < 64; i++)
        s += both(in[i], i);
    return s;
}
int main(void) {
    for (int i = 0; i < 64; i++)
        in[i] = 3 * i;
    out = sum() + square(out);
    return 0;
}

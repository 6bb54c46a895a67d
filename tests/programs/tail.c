/* Tail calls become jumps at -O2. */
#define NOINLINE __attribute__((noinline, noclone))
static int sink[4];
NOINLINE int last(int *p, int n) { p[n & 3] += n; return p[0] + n; }
NOINLINE int middle(int *p, int n) { p[1] = n; return last(p, n + 1); }
NOINLINE int first(int *p, int n) { p[0] = n; return middle(p, n * 2); }
int main(void) { int r = 0; for (int i = 0; i < 5; i++) r += first(sink, i); return r == 45 ? 0 : r; }

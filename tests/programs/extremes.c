/* The greatest and the least of numbers of each width, and what only looks like them. */
#define KERNEL __attribute__((noinline)) static
enum { N = 512 };
#define OF(type, name) \
    static type a_##name[N], b_##name[N]; \
    KERNEL type max_##name(void) { type m = a_##name[0]; for (int i = 1; i < N; i++) m = a_##name[i] > m ? a_##name[i] : m; return m; } \
    KERNEL type min_##name(void) { type m = a_##name[0]; for (int i = 1; i < N; i++) m = a_##name[i] < m ? a_##name[i] : m; return m; } \
    KERNEL type other_##name(void) { type m = a_##name[0]; for (int i = 1; i < N; i++) m = a_##name[i] > m ? b_##name[i] : m; return m; } \
    KERNEL void fill_##name(void) { for (int i = 0; i < N; i++) a_##name[i] = (type)(i * 7919), b_##name[i] = (type)(i * 31); }

OF(signed char, i8)
OF(unsigned char, u8)
OF(short, i16)
OF(unsigned short, u16)
OF(int, i32)
OF(unsigned, u32)
OF(long, i64)
OF(unsigned long, u64)

volatile long sink;
#define RUN(name) fill_##name(), sink = max_##name(), sink = min_##name(), sink = other_##name();

int main(void) {
    RUN(i8) RUN(u8) RUN(i16) RUN(u16) RUN(i32) RUN(u32) RUN(i64) RUN(u64)
    return 0;
}

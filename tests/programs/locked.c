/* What each processor does at once: 1000 times it adds, exchanges and sets a bit, which are three loads and three stores. */
static unsigned counter;

__attribute__((noinline)) static void work(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        __atomic_fetch_add(&counter, 3, __ATOMIC_SEQ_CST);
        __atomic_exchange_n(&counter, i, __ATOMIC_SEQ_CST);
        __atomic_fetch_or(&counter, 8, __ATOMIC_SEQ_CST);
    }
}

int main(void)
{
    work();
    return 0;
}

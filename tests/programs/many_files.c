/* Reads 16 bytes of each of 2,200 files, which it makes: more names than the recorder's sums tell apart. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int add(const char *bytes)
{
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += bytes[i];
    return sum;
}

int main(void)
{
    char name[32], bytes[16] = "fifteen letters";
    int sum = 0;
    for (int i = 0; i < 2200; i++) {
        snprintf(name, sizeof name, "file-%04d", i);
        int file = open(name, O_RDWR | O_CREAT, 0600);
        if (file < 0 || write(file, bytes, 16) != 16 || lseek(file, 0, SEEK_SET) || read(file, bytes, 16) != 16) return 1;
        close(file);
        unlink(name);
        sum += add(bytes);
    }
    return sum != 2200 * add(bytes);
}

/* closes FILE: closes every descriptor that is open, as a daemon does, and makes a file of six bytes. Says which numbers it got. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    for (int fd = 3; fd < 1024; fd++) close(fd);
    int first = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), second = open(argv[1], O_RDONLY);
    printf("%d %d\n", first, second);
    fflush(stdout);
    /* A recording of more than a buffer. */
    for (volatile int i = 0; i < 400000; i++) continue;
    return write(first, "hello\n", 6) != 6;
}

/* The C library's string functions: vector registers, repeated string instructions, IFUNCs. */
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
int main(void) {
    char text[300], copy[300], *grown = malloc(600);
    memset(text, 'x', sizeof text);
    text[299] = 0;
    strcpy(copy, text);
    memmove(copy + 1, copy, 200);
    strcpy(grown, text);
    strcat(grown, copy);
    int n = (int)strlen(grown) + strcmp(text, copy) + (int)(strchr(copy, 0) - copy);
    snprintf(text, sizeof text, "%d %s %.3f", n, "done", n / 7.0);
    n = atoi(text);
    free(grown);
    return n == 897 ? 0 : 1;
}

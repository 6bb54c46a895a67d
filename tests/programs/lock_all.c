/* Locks all memory that is there once it is touched: 0 if nothing is locked then, as under sums, which have reserved more than there is. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    char line[256];
    long locked = -1;
    if (mlockall(MCL_CURRENT | MCL_ONFAULT)) return 2;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmLck: %ld", &locked);
    return locked == 0 ? 0 : 1;
}

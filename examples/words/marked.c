/* words.c with a mark before and behind its second phase (docs/sums.md). Needs valgrind's headers:
 * gcc -g -O1 -fno-inline -I recorders/stream -o marked examples/words/marked.c
 */
#define main unmarked
#include "words.c"
#undef main
#include "addfg_mark.h"

int main(int arguments, char **argument)
{
    int length = load(arguments > 1 ? argument[1] : "text.txt");
    lower(length);
    ADDFG_MARK(1);
    split(length);
    ADDFG_MARK(2);
    choose();
    for (int i = 0; i < 10 && often[i]; i++) print(often[i]);
    return 0;
}

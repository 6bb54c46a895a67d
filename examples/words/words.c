/* Which words does a text have, and how often? A file goes in, a list comes out. */
#include <fcntl.h>
#include <unistd.h>

struct word {
    struct word *next;
    int count, length;
    const char *text;
};

static char text[1 << 20];
static struct word words[1 << 14], *table[256], *often[10];
static int different;

static int load(const char *path)
{
    int file = open(path, O_RDONLY), length = 0, n;
    if (file < 0) return 0;
    while ((n = read(file, text + length, sizeof text - length)) > 0) length += n;
    close(file);
    return length;
}

static void lower(int length)
{
    for (int i = 0; i < length; i++)
        if (text[i] >= 'A' && text[i] <= 'Z') text[i] += 'a' - 'A';
}

static int equal(const struct word *word, const char *at, int length)
{
    if (word->length != length) return 0;
    for (int i = 0; i < length; i++)
        if (word->text[i] != at[i]) return 0;
    return 1;
}

static unsigned hash(const char *at, int length)
{
    unsigned hash = 5381;
    for (int i = 0; i < length; i++) hash = hash * 33 + at[i];
    return hash % 256;
}

static void count(const char *at, int length)
{
    struct word **first = &table[hash(at, length)], *word = *first;
    while (word && !equal(word, at, length)) word = word->next;
    if (!word && different < (int)(sizeof words / sizeof *words)) {
        word = &words[different++];
        *word = (struct word){ *first, 0, length, at };
        *first = word;
    }
    if (word) word->count++;
}

static void split(int length)
{
    int from = 0;
    for (int i = 0; i <= length; i++)
        if (i == length || text[i] < 'a' || text[i] > 'z') {
            if (i > from) count(text + from, i - from);
            from = i + 1;
        }
}

static void choose(void)
{
    for (int i = 0; i < different; i++) {
        struct word *word = &words[i];
        for (int place = 0; place < 10 && word; place++)
            if (!often[place] || often[place]->count < word->count) {
                struct word *next = often[place];
                often[place] = word;
                word = next;
            }
    }
}

static void print(const struct word *word)
{
    char line[128];
    int end = sizeof line, number = word->count;
    line[--end] = '\n';
    for (int i = word->length < 100 ? word->length : 100; i-- > 0;) line[--end] = word->text[i];
    line[--end] = ' ';
    for (; number; number /= 10) line[--end] = '0' + number % 10;
    if (write(1, line + end, sizeof line - end) < 0) _exit(1);
}

int main(int arguments, char **argument)
{
    int length = load(arguments > 1 ? argument[1] : "text.txt");
    lower(length);
    split(length);
    choose();
    for (int i = 0; i < 10 && often[i]; i++) print(often[i]);
    return 0;
}

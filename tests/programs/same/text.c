/*
 * Strings, a byte at a time: a line of 32 characters (26 letters, 7 words) and a number of 4 digits.
 *
 * calls: main copy 2, main upper 1, main length 1, main heads 1, main number 1, number reverse 1, main hash 3
 * flow: copy upper stack 33
 * flow: upper copy stack 26
 * flow: copy length heap 33
 * flow: copy heads heap 33
 * flow: copy hash heap 33
 * flow: heads hash global 8
 * flow: number reverse stack 4
 * flow: reverse hash stack 4
 * flow: number hash stack 1
 */
#include "start.h"

static const char text[] = "ten green bottles hang on a wall";
static char first[8];

OWN static void copy(char *to, const char *from)
{
    do
        *to++ = *from;
    while (*from++);
}

OWN static void upper(char *text)
{
    for (char c; (c = *text) != 0; text++)
        if (c >= 'a' && c <= 'z')
            *text = c - 'a' + 'A';
}

OWN static uint32_t length(const char *text)
{
    uint32_t count = 0;
    while (text[count])
        count++;
    return count;
}

/* The first letter of each word. */
OWN static void heads(char *to, const char *text)
{
    int within = 0;
    for (char c; (c = *text) != 0; text++) {
        if (c != ' ' && !within)
            *to++ = c;
        within = c != ' ';
    }
    *to = 0;
}

OWN static void reverse(char *digits, uint32_t count)
{
    for (uint32_t i = 0, j = count - 1; i < j; i++, j--) {
        char digit = digits[i];
        digits[i] = digits[j];
        digits[j] = digit;
    }
}

OWN static void number(char *to, uint32_t value)
{
    uint32_t count = 0;
    for (; value; value /= 10)
        to[count++] = '0' + value % 10;
    to[count] = 0;
    reverse(to, count);
}

OWN static uint32_t hash(const char *text)
{
    uint32_t hash = 5381;
    for (char c; (c = *text) != 0; text++)
        hash = hash * 33 + (uint8_t)c;
    return hash;
}

OWN int main(void)
{
    char line[40], digits[8];
    char *kept = heap();
    copy(line, text);
    upper(line);
    copy(kept, line);
    uint32_t sum = length(kept);
    heads(first, kept);
    sum += hash(kept) + hash(first);
    number(digits, 1234);
    return (sum + hash(digits)) & 0x3f;
}

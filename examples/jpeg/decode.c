/*
 * JPEG decompression, the workload of the paper: decode FILE [TIMES] decodes FILE to RGB and prints a checksum of the pixels.
 *
 * The decoder is stb_image (Debian: libstb-dev). Everything it needs from a C library is below, so that a recording holds the
 * decoder and little else.
 */
#include <stddef.h>

static void *allocate(size_t size);
static void *reallocate(void *old, size_t old_size, size_t new_size);

#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_NO_FAILURE_STRINGS
#define STBI_NO_THREAD_LOCALS
/* The scalar inverse transform: one can follow it. */
#define STBI_NO_SIMD
#define STBI_ASSERT(condition) ((void)0)
#define STBI_MALLOC allocate
#define STBI_REALLOC_SIZED reallocate
#define STBI_FREE(pointer) ((void)(pointer))
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

/* Memory from the kernel, and none of it given back: the program is short. */
enum { ARENA = 64 << 20, FILE_SIZE = 4 << 20 };
static char *arena;
static size_t arena_used;

static void *allocate(size_t size)
{
    if (size > ARENA - arena_used)
        return NULL;
    void *block = arena + arena_used;
    arena_used += (size + 15) & ~(size_t)15;
    return block;
}

void *memcpy(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = byte;
    return to;
}

int abs(int value)
{
    return value < 0 ? -value : value;
}

static void *reallocate(void *old, size_t old_size, size_t new_size)
{
    void *block = allocate(new_size);
    return block && old ? memcpy(block, old, old_size < new_size ? old_size : new_size) : block;
}

enum { READ = 0, WRITE = 1, OPEN = 2, MMAP = 9 };

static long system_call(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d, fifth __asm__("r8") = -1, sixth __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return number;
}

static char *map_memory(size_t size)
{
    enum { READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22 };
    long address = system_call(MMAP, 0, size, READ_WRITE, PRIVATE_ANONYMOUS);
    return address < 0 ? NULL : (char *)address;
}

static int read_file(const char *path, unsigned char *to, int capacity)
{
    int file = system_call(OPEN, (long)path, 0, 0, 0), size = 0, part;
    while (file >= 0 && size < capacity && (part = system_call(READ, file, (long)(to + size), capacity - size, 0)) > 0)
        size += part;
    return size;
}

static unsigned checksum(const unsigned char *pixels, int size)
{
    unsigned sum = 0;
    for (int i = 0; i < size; i++)
        sum = sum * 31 + pixels[i];
    return sum;
}

static void print_number(unsigned value)
{
    char text[12], *p = text + sizeof text;
    *--p = '\n';
    do
        *--p = '0' + value % 10;
    while (value /= 10);
    system_call(WRITE, 1, (long)p, text + sizeof text - p, 0);
}

static int parse_number(const char *text)
{
    int value = 0;
    while (*text >= '0' && *text <= '9')
        value = value * 10 + (*text++ - '0');
    return value;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    unsigned char *file = (unsigned char *)map_memory(FILE_SIZE);
    arena = map_memory(ARENA);
    if (!file || !arena)
        return 1;
    int size = read_file(argv[1], file, FILE_SIZE);
    int times = argc > 2 ? parse_number(argv[2]) : 1;
    unsigned sum = 0;
    while (times-- > 0) {
        int width, height, channels;
        arena_used = 0;
        unsigned char *pixels = stbi_load_from_memory(file, size, &width, &height, &channels, 3);
        if (!pixels)
            return 1;
        sum += checksum(pixels, width * height * 3);
    }
    print_number(sum);
    return 0;
}

/* The entry point: the kernel leaves argc and argv on the stack. */
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov (%rsp), %edi\n"
        "    lea 8(%rsp), %rsi\n"
        "    call main\n"
        "    mov %eax, %edi\n"
        "    mov $60, %eax\n"
        "    syscall\n"
        ".size _start, . - _start\n");

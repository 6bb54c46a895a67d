/* JPEG decompression, the paper's workload: decode FILE [TIMES]. The decoder is stb_image. */
#define STBI_ONLY_JPEG
#define STBI_NO_SIMD
#define STBI_NO_THREAD_LOCALS
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned checksum(const unsigned char *pixels, int bytes) {
    unsigned sum = 0;
    for (int i = 0; i < bytes; i++)
        sum = sum * 31 + pixels[i];
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    int times = argc > 2 ? atoi(argv[2]) : 1;
    unsigned sum = 0;
    for (int i = 0; i < times; i++) {
        int width, height, channels;
        unsigned char *pixels = stbi_load(argv[1], &width, &height, &channels, 3);
        if (!pixels)
            return 1;
        sum += checksum(pixels, width * height * 3);
        stbi_image_free(pixels);
    }
    printf("%u\n", sum);
    return 0;
}

/* Writes the test image: encode FILE SIZE, a colour JPEG of SIZE by SIZE pixels with flat areas, gradients and noise. */
#include <stdlib.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int size = atoi(argv[2]);
    unsigned char *pixels = malloc((size_t)size * size * 3), *p = pixels;
    unsigned noise = 1;
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            noise = noise * 1103515245 + 12345;
            int grain = x > y ? (noise >> 16) % 64 : 0;
            *p++ = x * 191 / size + grain;
            *p++ = y * 191 / size + grain;
            *p++ = (x / 8 + y / 8) % 2 ? 160 : 40;
        }
    return !stbi_write_jpg(argv[1], size, size, 3, pixels, 85);
}

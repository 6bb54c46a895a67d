/* Makes the image that the example decodes: encode FILE SIZE. */
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    int n = atoi(argv[2]);
    unsigned char *pixels = malloc((size_t)n * n * 3);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            unsigned char *p = pixels + 3 * (y * n + x);
            p[0] = x * 255 / n;
            p[1] = y * 255 / n;
            p[2] = (x * y) ^ (x >> 2);
        }
    return !stbi_write_jpg(argv[1], n, n, 3, pixels, 80);
}

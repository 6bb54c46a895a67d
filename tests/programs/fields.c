/* Structures whose every field's traffic is known: nested ones, arrays of them, arrays within, a union, bit fields. */
struct point { int x, y; };
struct pixel { unsigned char red, green, blue, alpha; };
struct sprite {
    struct point position;
    struct { short width, height; } size;
    struct point corners[2];
    union { unsigned whole; unsigned char bytes[4]; } colour;
    unsigned low : 4, high : 4;
    double weight;
};
static volatile struct sprite sprite;
static volatile struct pixel pixels[100];
static volatile struct { int used, unused; } pair;

/* 10 writes of x, 20 of y, of which nobody reads 19. */
__attribute__((noinline)) static void move(void) {
    for (int i = 0; i < 10; i++) sprite.position.x = i;
    for (int i = 0; i < 20; i++) sprite.position.y = i;
}

__attribute__((noinline)) static int place(void) {
    int sum = 0;
    for (int i = 0; i < 7; i++) sum += sprite.position.x;
    return sum + sprite.position.y;
}

__attribute__((noinline)) static void shape(void) {
    sprite.size.width = 3;
    sprite.corners[0].x = 1;
    sprite.corners[1].x = 2;
    sprite.corners[1].y = 3;
    sprite.colour.whole = 0x01020304;
    sprite.weight = 1.5;
}

__attribute__((noinline)) static int look(void) {
    return sprite.corners[0].x + sprite.corners[1].x + sprite.colour.bytes[2];
}

__attribute__((noinline)) static void paint(void) {
    for (int i = 0; i < 100; i++) pixels[i].red = (unsigned char)i;
    for (int i = 0; i < 50; i++) pixels[i].blue = (unsigned char)i;
}

__attribute__((noinline)) static int sum(void) {
    int sum = 0;
    for (int i = 0; i < 30; i++) sum += pixels[i].red + pixels[i].blue;
    return sum;
}

int main(void) {
    move();
    int s = place();
    shape();
    s += look();
    paint();
    s += sum();
    pair.used = s;
    return pair.used == 0;
}

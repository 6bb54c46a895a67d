/* Orders of three customers; the total is wrong. Which line is it? docs/tutorial-value.md finds it. */
#include <stdio.h>
#include <string.h>

struct order { char customer[8]; int price; };
static struct order orders[3];

static void set(struct order *order, const char *customer, int price) {
    order->price = price;
    for (size_t i = 0; i <= strlen(customer); i++) order->customer[i] = customer[i];
}

static int total(const struct order *orders, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += orders[i].price;
    return sum;
}

int main(void) {
    set(&orders[0], "Ada", 300);
    set(&orders[1], "Christine", 500);
    set(&orders[2], "Barbara", 200);
    printf("%d\n", total(orders, 3));
}

// C++: virtual calls, constructors, and an exception that unwinds frames. g++ -static.
#define NOINLINE __attribute__((noinline, noclone))
static int destroyed;
struct Guard { ~Guard() { destroyed++; } };
struct Shape { virtual ~Shape() {} virtual int area() const = 0; };
struct Square : Shape { int side; explicit Square(int s) : side(s) {} NOINLINE int area() const override { return side * side; } };
struct Strip : Shape { int length; explicit Strip(int l) : length(l) {} NOINLINE int area() const override { return length; } };
NOINLINE static int measure(const Shape &shape) { return shape.area(); }
NOINLINE static void fall(int depth) { Guard guard; if (depth == 0) throw 7; fall(depth - 1); }
NOINLINE static int catcher() { try { fall(3); } catch (int value) { return value; } return 0; }
int main() { Square square(4); Strip strip(5); return measure(square) + measure(strip) + catcher() == 28 && destroyed == 4 ? 0 : 1; }
